"""Sweeps: many runs that lose nothing when they are killed.

`unit` is one run and its folder, `work` does it wherever that is, `backend` says where, `ledger` records the draws in
an Optuna study, `driver` sees to it that every unit is done, `sweep` puts them together, `choice` and `records` say
what came out, `status` tells from outside how far it is, and `cost` what it will take.
"""
