"""What other frameworks and papers call the things that have a name here, for "did you mean"."""

# Without case, dashes and underscores; after a space, the value that says the same.
SYNONYMS = {
    "algorithm": "strategy", "aggregation": "strategy", "aggregator": "strategy", "method": "strategy",
    "data": "dataset", "datasetname": "dataset", "split": "partition", "partitioner": "partition",
    "alpha": "partition dirichlet:0.5", "beta": "partition dirichlet:0.5", "dirichlet": "partition dirichlet:0.5",
    "iid": "partition iid", "noniid": "partition dirichlet:0.5",
    "arch": "model", "architecture": "model", "net": "model", "network": "model",
    "learningrate": "lr", "clientlr": "lr", "locallr": "lr", "eta": "lr", "lrdecayrate": "lr-decay", "gamma": "lr-decay",
    "batch": "batch-size", "bs": "batch-size", "localbatchsize": "batch-size", "localbs": "batch-size",
    "localepochs": "epochs", "numepochs": "epochs", "numlocalepochs": "epochs", "localep": "epochs",
    "numclients": "clients", "nclients": "clients", "numnodes": "clients", "numsupernodes": "clients", "numusers": "clients",
    "numrounds": "rounds", "nrounds": "rounds", "numserverrounds": "rounds", "communicationrounds": "rounds", "comms": "rounds",
    "fractionfit": "fraction", "fractiontrain": "fraction", "frac": "fraction", "participation": "fraction", "joinratio": "fraction",
    "l2": "weight-decay", "wd": "weight-decay", "gradclip": "clip", "maxgradnorm": "clip", "randomseed": "seed",
    "output": "out", "outputdir": "out", "outdir": "out", "logdir": "out", "savedir": "out", "dir": "out", "folder": "out",
    "checkpoint": "resume", "pretrained": "init", "initialmodel": "init", "backend": "engine", "numworkers": "workers",
    "gpu": "device cuda", "cuda": "device cuda", "earlystopping": "patience", "timeout": "round-timeout",
    "epsilon": "dp-epsilon", "delta": "dp-delta", "noisemultiplier": "dp-noise", "privacybudget": "dp-budget", "param": "set", "override": "set", "params": "set",
    "cifar": "cifar10", "fmnist": "fashion-mnist", "fashion": "fashion-mnist", "tinyimagenet200": "tiny-imagenet",
    "averaging": "fedavg", "avg": "fedavg", "fedopt": "fedadam", "fedavgwithmomentum": "fedavgm",
    "dirichletlda": "lda", "noniidlabeldir": "dirichlet", "pathological": "shards",
}  # fmt: skip
