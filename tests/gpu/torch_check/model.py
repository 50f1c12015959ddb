"""A transformer block whose costs are its products. Loaded once for each way to run it, because
torch.compile keeps what it compiled with the function."""

import torch


class Block(torch.nn.Module):
    """Attention and an MLP, then logits."""

    def __init__(self, hidden, vocabulary):
        super().__init__()
        self.heads = hidden // 64
        self.norm = torch.nn.LayerNorm(hidden)
        self.qkv = torch.nn.Linear(hidden, 3 * hidden, bias=False)
        self.out = torch.nn.Linear(hidden, hidden, bias=False)
        self.up = torch.nn.Linear(hidden, 4 * hidden)
        self.down = torch.nn.Linear(4 * hidden, hidden, bias=False)
        self.logits = torch.nn.Linear(hidden, vocabulary, bias=False)

    def forward(self, x):
        q, k, v = self.qkv(self.norm(x)).chunk(3, dim=-1)
        split = (1, x.shape[0], self.heads, 64)
        q, k, v = (t.reshape(split).transpose(1, 2) for t in (q, k, v))
        attended = torch.nn.functional.scaled_dot_product_attention(q, k, v)
        x = x + self.out(attended.transpose(1, 2).reshape(x.shape))
        x = x + self.down(torch.relu(self.up(x)))
        return self.logits(x)
