"""Stand-in for WILDS's root of all algorithms."""
# ruff: noqa: I001
# The order of the imports is WILDS's: the bridge's hooks depend on it.

import torch.nn as nn
from utils import move_to, detach_and_clone


class Algorithm(nn.Module):
    """There is a log as soon as log_dict has something in it."""

    out_device = "cpu"

    def __init__(self, device):
        nn.Module.__init__(self)
        self.log_dict = {}
        self.device, self.is_training = device, True

    def reset_log(self):
        self.log_dict = {}

    has_log = property(lambda self: bool(self.log_dict))

    def train(self, mode=True):  # returns nothing, and neither does eval(), as in WILDS
        nn.Module.train(self, mode)
        self.reset_log()
        self.is_training = mode

    def sanitize_dict(self, in_dict, to_out_device=True):
        out = detach_and_clone(in_dict)
        return move_to(out, self.out_device) if to_out_device else out
