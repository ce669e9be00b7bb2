"""The papers that parts name, each by a key, and how they are cited; a part of one's own may name its paper in words instead."""

from __future__ import annotations

from dataclasses import dataclass

JOURNALS = ("TMLR",)


@dataclass(frozen=True)
class Paper:
    """One publication. The link is left out where none is known for sure."""

    authors: tuple[str, ...]  # "Last, First"
    title: str
    venue: str
    year: int
    arxiv: str = ""
    url: str = ""

    @property
    def link(self) -> str:
        return self.url or (f"https://arxiv.org/abs/{self.arxiv}" if self.arxiv else "")

    @property
    def short(self) -> str:
        """As in `Li et al., MLSys 2020`."""
        first = self.authors[0].partition(",")[0]
        others = {1: "", 2: f" and {self.authors[-1].partition(',')[0]}"}.get(len(self.authors), " et al.")
        return f"{first}{others}, {f'{self.venue} {self.year}'.strip()}"

    def bibtex(self, key: str) -> str:
        kind = "misc" if not self.venue else "article" if self.venue in JOURNALS else "inproceedings"
        fields = {
            "author": " and ".join(self.authors),
            "title": f"{{{self.title}}}",
            {"article": "journal", "misc": "note"}.get(kind, "booktitle"): self.venue or "Preprint",
            "year": str(self.year),
            "eprint": self.arxiv,
            "archiveprefix": "arXiv" if self.arxiv else "",
            "url": self.link,
        }
        lines = [f"  {name} = {{{value}}}," for name, value in fields.items() if value]
        return "\n".join([f"@{kind}{{{key},", *lines, "}"])


def cited(paper: str) -> str:
    """A paper in a few words: of a key what it stands for, of other words the words."""
    return PAPERS[paper].short if paper in PAPERS else paper


PAPERS: dict[str, Paper] = {
    "fedavg": Paper(
        ("McMahan, Brendan", "Moore, Eider", "Ramage, Daniel", "Hampson, Seth", "Agüera y Arcas, Blaise"),
        "Communication-Efficient Learning of Deep Networks from Decentralized Data", "AISTATS", 2017, "1602.05629",
    ),
    "fedavgm": Paper(
        ("Hsu, Tzu-Ming Harry", "Qi, Hang", "Brown, Matthew"),
        "Measuring the Effects of Non-Identical Data Distribution for Federated Visual Classification", "", 2019, "1909.06335",
    ),
    "fedopt": Paper(
        (
            "Reddi, Sashank J.", "Charles, Zachary", "Zaheer, Manzil", "Garrett, Zachary", "Rush, Keith", "Konečný, Jakub",
            "Kumar, Sanjiv", "McMahan, H. Brendan",
        ),
        "Adaptive Federated Optimization", "ICLR", 2021, "2003.00295",
    ),
    "fedprox": Paper(
        ("Li, Tian", "Sahu, Anit Kumar", "Zaheer, Manzil", "Sanjabi, Maziar", "Talwalkar, Ameet", "Smith, Virginia"),
        "Federated Optimization in Heterogeneous Networks", "MLSys", 2020, "1812.06127",
    ),
    "scaffold": Paper(
        (
            "Karimireddy, Sai Praneeth", "Kale, Satyen", "Mohri, Mehryar", "Reddi, Sashank", "Stich, Sebastian",
            "Suresh, Ananda Theertha",
        ),
        "SCAFFOLD: Stochastic Controlled Averaging for Federated Learning", "ICML", 2020, "1910.06378",
    ),
    "feddyn": Paper(
        (
            "Acar, Durmus Alp Emre", "Zhao, Yue", "Matas Navarro, Ramon", "Mattina, Matthew", "Whatmough, Paul N.",
            "Saligrama, Venkatesh",
        ),
        "Federated Learning Based on Dynamic Regularization", "ICLR", 2021, "2111.04263",
    ),
    "feddc": Paper(
        ("Gao, Liang", "Fu, Huazhu", "Li, Li", "Chen, Yingwen", "Xu, Ming", "Xu, Cheng-Zhong"),
        "FedDC: Federated Learning with Non-IID Data via Local Drift Decoupling and Correction", "CVPR", 2022, "2203.11751",
    ),
    "moon": Paper(
        ("Li, Qinbin", "He, Bingsheng", "Song, Dawn"),
        "Model-Contrastive Federated Learning", "CVPR", 2021, "2103.16257",
    ),
    "fednova": Paper(
        ("Wang, Jianyu", "Liu, Qinghua", "Liang, Hao", "Joshi, Gauri", "Poor, H. Vincent"),
        "Tackling the Objective Inconsistency Problem in Heterogeneous Federated Optimization", "NeurIPS", 2020, "2007.07481",
    ),
    "feddecorr": Paper(
        ("Shi, Yujun", "Liang, Jian", "Zhang, Wenqing", "Tan, Vincent Y. F.", "Bai, Song"),
        "Towards Understanding and Mitigating Dimensional Collapse in Heterogeneous Federated Learning", "ICLR", 2023, "2210.00226",
    ),
    "fedexp": Paper(
        ("Jhunjhunwala, Divyansh", "Wang, Shiqiang", "Joshi, Gauri"),
        "FedExP: Speeding Up Federated Averaging via Extrapolation", "ICLR", 2023, "2301.09604",
    ),
    "feddf": Paper(
        ("Lin, Tao", "Kong, Lingjing", "Stich, Sebastian U.", "Jaggi, Martin"),
        "Ensemble Distillation for Robust Model Fusion in Federated Learning", "NeurIPS", 2020, "2006.07242",
    ),
    "afl": Paper(
        ("Mohri, Mehryar", "Sivek, Gary", "Suresh, Ananda Theertha"),
        "Agnostic Federated Learning", "ICML", 2019, "1902.00146",
    ),
    "fedvra": Paper(
        ("Wang, Shuai", "Xu, Yanqing", "Wang, Zhiguo", "Chang, Tsung-Hui", "Quek, Tony Q. S.", "Sun, Defeng"),
        "Beyond ADMM: A Unified Client-Variance-Reduced Adaptive Federated Learning Framework", "AAAI", 2023, "2212.01519",
    ),
    "fedntd": Paper(
        ("Lee, Gihun", "Jeong, Minchan", "Shin, Yongjin", "Bae, Sangmin", "Yun, Se-Young"),
        "Preservation of the Global Knowledge by Not-True Distillation in Federated Learning", "NeurIPS", 2022, "2106.03097",
    ),
    "fedsam": Paper(
        ("Qu, Zhe", "Li, Xingyu", "Duan, Rui", "Liu, Yao", "Tang, Bo", "Lu, Zhuo"),
        "Generalized Federated Learning via Sharpness Aware Minimization", "ICML", 2022, "2206.02618",
    ),
    "fedspeed": Paper(
        ("Sun, Yan", "Shen, Li", "Huang, Tiansheng", "Ding, Liang", "Tao, Dacheng"),
        "FedSpeed: Larger Local Interval, Less Communication Round, and Higher Generalization Accuracy", "ICLR", 2023, "2302.10429",
    ),
    "fedper": Paper(
        ("Arivazhagan, Manoj Ghuhan", "Aggarwal, Vinay", "Singh, Aaditya Kumar", "Choudhary, Sunav"),
        "Federated Learning with Personalization Layers", "", 2019, "1912.00818",
    ),
    "fedbabu": Paper(
        ("Oh, Jaehoon", "Kim, Sangmook", "Yun, Se-Young"),
        "FedBABU: Toward Enhanced Representation for Federated Image Classification", "ICLR", 2022, "2106.06042",
    ),
    "feddisco": Paper(
        ("Ye, Rui", "Xu, Mingkai", "Wang, Jianyu", "Xu, Chenxin", "Chen, Siheng", "Wang, Yanfeng"),
        "FedDisco: Federated Learning with Discrepancy-Aware Collaboration", "ICML", 2023, "2305.19229",
    ),
    "asd": Paper(
        ("Yashwanth, M.", "Nayak, Gaurav Kumar", "Singh, Arya", "Simmhan, Yogesh", "Chakraborty, Anirban"),
        "Adaptive Self-Distillation for Minimizing Client Drift in Heterogeneous Federated Learning", "TMLR", 2024, "2305.19600",
        "https://openreview.net/forum?id=K58n87DE4s",
    ),
    "fedssg": Paper(
        ("Zhou, Zhanting", "Lai, Jinshan", "Zhang, Fengchun", "Wu, Zeqin", "Zhang, Fengli"),
        "FedSSG: Expectation-Gated and History-Aware Drift Alignment for Federated Learning", "", 2025,
    ),
    "fedssa": Paper(
        ("Anonymous",), "Customizing Global Model for Arbitrary Target Distributions in Federated Learning", "", 2024,
    ),
    "fedcuau": Paper(("Anonymous",), "FedCUAU: Clustered Federated Learning Using Weight Divergence", "", 2024),
}  # fmt: skip
