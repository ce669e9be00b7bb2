"""One thread: the tests' tensors are tiny, and other work shares the machine."""

import torch

torch.set_num_threads(1)
