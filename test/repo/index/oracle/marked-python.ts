/** Names through scopes, imports and their aliases. Comments say who is called, see `createMarkedOracle`. */
export const namesInPython: Readonly<Record<string, string>> = {
  "shop/__init__.py": "from .cart import Cart as Cart\nfrom . import money as cash\n",
  "shop/cart.py": `
from .money import rounded as r, Money  # nothing
class Cart:  #= def Cart
    def total(self):  #= def total
        return r(self.net())  #= calls rounded, net
    def net(self) -> "Money":  #= def net
        rounded = lambda x: x
        rounded(1)
        return Money(1)  #= calls Money
`,
  "shop/money.py": `
def rounded(value):  #= def rounded
    def inner():  #= def inner
        return rounded(inner())  #= calls rounded, inner
    return inner
class Money:  #= def Money
    @property
    def cents(self):
        return self
    def plus(self, other: "Money | None"):  #= def plus
        return self.cents.plus(other)  #= calls plus
`,
  "app.py": `
import shop
from shop.cart import *
import shop.money
import json
def main(rounded, thing):
    rounded(2)
    thing.total()  #= may total
    json.net()
    shop.cash.rounded(3)  #= calls rounded
    shop.money.rounded(3)  #= calls rounded
    cart = shop.Cart()  #= calls Cart
    cart.total()  #= calls total
    Cart().net().plus(None)  #= calls Cart, net, plus
`,
};

/** Methods of bases and of `super`, and what may be one of several. Comments say who is called, see `createMarkedOracle`. */
export const methodsInPython: Readonly<Record<string, string>> = {
  "a.py": `
from abc import ABC
class Base(ABC):  #= def Base
    def __init__(self, other):  #= def init
        self.other = Helper()  #= calls Helper
    def run(self):  #= def run
        self.step()  #= calls step = may substep
        self.other.help()  #= calls help
        self.later.help()  #= may help
    def step(self):  #= def step
        pass
class Helper:  #= def Helper
    def help(self):  #= def help
        pass
class Sub(Base):  #= def Sub
    def __init__(self):
        super().__init__(1)  #= calls init = may init
    def step(self):  #= def substep
        super().step()  #= calls step = may substep
        "text".help()
    @classmethod
    def make(cls):  #= def make
        return cls()  #= may init, Sub
@Sub.make  #= calls make
def decorated(x):
    try:
        y = Sub()  #= calls Sub = may init
    except Helper as error:
        error.help()  #= calls help
    if x:
        y = Base(x)  #= calls Base = may init
    y.step()  #= may step, substep
    with y as z:
        z.step()  #= may step, substep
    return [Helper() for Helper in x]
`,
};
