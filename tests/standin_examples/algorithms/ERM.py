"""Stand-in for WILDS's empirical risk minimization."""

from algorithms.single_model_algorithm import SingleModelAlgorithm
from models.initializer import initialize_model


class ERM(SingleModelAlgorithm):
    def __init__(self, config, d_out, grouper, loss, metric, n_train_steps):
        model = initialize_model(config, d_out)
        super().__init__(config, model, grouper, loss, metric, n_train_steps)

    def objective(self, results):
        return self.loss.compute(results["y_pred"], results["y_true"], return_dict=False)
