"""PyTorch: DataLoader over memory-mapped arrays (it has no container of its own), and a training loop."""

import numpy as np
import torch
from shared import W1_BATCH, W1_COUNT, W1_RECORD, W5_STEPS, Sink, case, main, steps, w1_arrays, w5_batches, warm
from torch.utils.data import DataLoader, Dataset

torch.set_num_threads(1)


class Images(Dataset):
    """Delivers whole batches, the fast way."""

    def __init__(self, folder):
        self.x, self.y = w1_arrays(folder, "c")

    def __len__(self):
        return W1_COUNT

    def __getitems__(self, indices):
        return torch.from_numpy(self.x[indices]), torch.from_numpy(self.y[indices])


def _whole(batch):
    return batch


@case("w1", "memory_map")
def w1(run):
    warm(run.path("w1_x.npy"))
    sink = Sink(run)
    with run.timed():
        for x, y in DataLoader(Images(run.folder), W1_BATCH, collate_fn=_whole):
            sink.w1(x, y)
    return sink.done()


class Ready(Dataset):
    """Batches that already exist."""

    def __init__(self, batches):
        self.batches = [torch.from_numpy(batch) for batch in batches]

    def __len__(self):
        return len(self.batches)

    def __getitem__(self, index):
        return self.batches[index]


@case("w5", "dataloader")
def w5(run):
    loader = DataLoader(Ready(w5_batches()), batch_size=None)
    with run.timed():
        for batch in loader:
            batch.mean().numpy()
    return steps(W5_STEPS)


@case("w7", "mlp")
def w7(run):
    x, y = (torch.from_numpy(np.ascontiguousarray(array)) for array in w1_arrays(run.folder, None))
    net = torch.nn.Sequential(torch.nn.Linear(784, 100), torch.nn.ReLU(), torch.nn.Linear(100, 10))
    optimizer = torch.optim.Adam(net.parameters(), 1e-3)
    loss_of = torch.nn.CrossEntropyLoss()
    losses = []
    with run.timed():
        for start in range(0, W1_COUNT, W1_BATCH):
            loss = loss_of(net(x[start : start + W1_BATCH]), y[start : start + W1_BATCH, 0])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    assert losses[-1] < losses[0]
    return {"records": W1_COUNT, "bytes": W1_COUNT * W1_RECORD}


if __name__ == "__main__":
    main("torch")
