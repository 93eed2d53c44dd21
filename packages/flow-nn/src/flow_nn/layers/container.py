"""Modules that hold modules in an order."""

from flow_nn.module import Module


class ModuleList(Module):
    """A list of modules, named by their place."""

    def __init__(self, modules=()):
        super().__init__()
        for module in modules:
            self.append(module)

    def append(self, module):
        """Adds a module at the end."""
        self.add_module(str(len(self._modules)), module)

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules.values())

    def __getitem__(self, i):
        return list(self._modules.values())[i]


class Sequential(ModuleList):
    """Modules called one after the other, each with the output of the one before."""

    def __init__(self, *modules):
        super().__init__(modules)

    def forward(self, x):
        for module in self:
            x = module(x)
        return x
