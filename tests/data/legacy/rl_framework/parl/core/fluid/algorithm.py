class Algorithm(object):
    def __init__(self, model=None):
        self.model = model

    def predict(self, *args, **kwargs):
        raise NotImplementedError

    def learn(self, *args, **kwargs):
        raise NotImplementedError
