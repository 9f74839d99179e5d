/** A file of each language, and what it defines: kind, name with its container, lines, `+` where others see it. */
export const samples: readonly { path: string; text: string; defines: readonly string[] }[] = [
  {
    path: "shop.ts",
    text: `import { tax } from "./tax.js";

/** What is sold. */
export interface Item {
  price: number;
  label(): string;
}

type Cents = number;
enum State { Open }

@Injectable()
export class Basket<T> extends Base {
  static #count = 0;
  readonly add = (item: T) => {
    this.items.push(item);
  };

  // Counts all.
  // Slowly.
  private total(
    scale = 2,
  ): Cents {
    const inner = () => scale;
    const local = 3;
    return tax(inner(), local);
  }
}

export const rate = 3, round = async (n: number) => n;
const table = {
  open() {},
  close: () => 1,
};
function late() {}
export { late };
describe("a basket", () => {
  it("adds", () => {});
});
`,
    defines: [
      "interface Item 3-7 +",
      "field Item.price 5-5 +",
      "method Item.label 6-6 +",
      "type Cents 9-9",
      "type State 10-10",
      "class Basket 12-28 +",
      "field Basket.#count 14-14",
      "method Basket.add 15-17 +",
      "method Basket.total 19-27",
      "function inner 24-24",
      "constant rate 30-30 +",
      "function round 30-30 +",
      "constant table 31-34",
      "method table.open 32-32",
      "method table.close 33-33",
      "function late 35-35 +",
      "test a basket 37-39",
      "test adds 38-38",
    ],
  },
  {
    path: "shop.cjs",
    text: `const limit = 3;
exports.open = function () {};
Shop.prototype.close = () => 1;
module.exports = { limit, size: 4 };
`,
    defines: ["constant limit 1-1 +", "function open 2-2 +", "method Shop.close 3-3", "constant size 4-4 +"],
  },
  {
    path: "shop.py",
    text: `LIMIT: int = 3
rates = {}

# Sells.
@register(
    1,
)
class Shop(Base):
    size = 1

    @property
    async def open(
        self,
        at=LIMIT,
    ) -> int:
        """Opens."""
        def inner():
            local = 1
            return local

        return inner()

def _hidden(): pass
`,
    defines: [
      "constant LIMIT 1-1 +",
      "variable rates 2-2 +",
      "class Shop 4-21 +",
      "field Shop.size 9-9 +",
      "method Shop.open 11-21 +",
      "function inner 17-19",
      "function _hidden 23-23",
    ],
  },
  {
    path: "shop.go",
    text: `package shop

const Limit, low = 3, 1

// Shop sells.
type Shop struct {
	Size, rest int
}
type Opener interface {
	Open(at int) error
}

// Open opens.
func (s *Shop) Open(at int) error {
	run := func() {}
	var local = 1
	return nil
}
func helper[K any](k K) {}
`,
    defines: [
      "constant Limit 3-3 +",
      "constant low 3-3",
      "class Shop 5-8 +",
      "field Shop.Size 7-7 +",
      "field Shop.rest 7-7",
      "interface Opener 9-11 +",
      "method Opener.Open 10-10 +",
      "method Shop.Open 13-18 +",
      "function run 15-15",
      "function helper 19-19",
    ],
  },
  {
    path: "Shop.java",
    text: `package shop;
/**
 * Sells.
 */
@Deprecated
public class Shop<T> {
  private static final int LIMIT = 3, LOW = 1;
  public Shop(int n) { this.n = n; }
  @Override
  public int open() {
    int local = 1;
    return local;
  }
  enum State { OPEN }
  public interface Opener { void open(); }
  record Price(int cents) {}
}
`,
    defines: [
      "class Shop 2-17 +",
      "constant Shop.LIMIT 7-7",
      "constant Shop.LOW 7-7",
      "method Shop.Shop 8-8 +",
      "method Shop.open 9-13 +",
      "type Shop.State 14-14",
      "constant State.OPEN 14-14",
      "interface Shop.Opener 15-15 +",
      "method Opener.open 15-15 +",
      "class Shop.Price 16-16",
    ],
  },
  {
    path: "shop.c",
    text: `#include "shop.h"
#define LIMIT 3
#define TWICE(x) ((x) * 2)
typedef struct node { int n; } node_t;
enum state { OPEN };
static const char *names[] = {"a"};
int open_shop(int);

/* Opens. */
static int *find(struct node *from,
                 int n)
{
  int local = n;
  return &local;
}
`,
    defines: [
      "macro LIMIT 2-2 +",
      "macro TWICE 3-3 +",
      "type node_t 4-4 +",
      "class node_t.node 4-4 +",
      "field node.n 4-4 +",
      "type state 5-5 +",
      "constant state.OPEN 5-5 +",
      "constant names 6-6",
      "function open_shop 7-7 +",
      "function find 9-15",
    ],
  },
  {
    path: "shop.h",
    text: `namespace shop {
template <class T>
class Shop : public Base {
 public:
  int open(int at = 1) const;
  void close() {}
 private:
  int size_;
};
}
int shop::Shop::open(int at) const {
  return at;
}
`,
    defines: [
      "module shop 1-10 +",
      "class Shop 2-9 +",
      "method Shop.open 5-5 +",
      "method Shop.close 6-6 +",
      "field Shop.size_ 8-8 +",
      "method Shop.open 11-13 +",
    ],
  },
  {
    path: "shop.rs",
    text: `/// Sells.
#[derive(Debug)]
pub struct Shop { pub size: i32, rest: i32 }
enum State { Open }
pub trait Opener { fn open(&self) -> i32; }
impl Opener for Shop {
    fn open(&self) -> i32 { self.size }
}
macro_rules! twice { () => {} }
const LIMIT: i32 = 1;
mod inner { fn hidden() {} }
`,
    defines: [
      "class Shop 1-3 +",
      "field Shop.size 3-3 +",
      "field Shop.rest 3-3",
      "type State 4-4",
      "constant State.Open 4-4",
      "interface Opener 5-5 +",
      "method Opener.open 5-5 +",
      "extension Shop 6-8 +",
      "method Shop.open 7-7 +",
      "macro twice 9-9",
      "constant LIMIT 10-10",
      "module inner 11-11",
      "function hidden 11-11",
    ],
  },
  {
    path: "shop.rb",
    text: `module Trade
  # Sells.
  class Shop < Base
    attr_reader :size, :name
    LIMIT = 3
    def self.make(n) = new(n)
    def open?
      local = 1
      local
    end
  end
end
describe Trade do
  it "opens" do
  end
end
`,
    defines: [
      "module Trade 1-12 +",
      "class Shop 2-11 +",
      "field Shop.size 4-4 +",
      "field Shop.name 4-4 +",
      "constant Shop.LIMIT 5-5 +",
      "method Shop.make 6-6 +",
      "method Shop.open? 7-10 +",
      "test opens 14-15",
    ],
  },
  {
    path: "Shop.kt",
    text: `/** Sells. */
@Serializable
abstract class Shop(val size: Int, rest: Int) : Base(rest) {
  companion object { const val LIMIT = 3 }
  private var open: Boolean = false
  override fun open(at: Int): Int {
    val local = at
    return local
  }
}
interface Opener { fun open(): Int }
enum class State { OPEN }
fun Shop.twice() = 2
typealias Shops = List<Shop>
`,
    defines: [
      "class Shop 1-10 +",
      "field Shop.size 3-3 +",
      "class Shop.Companion 4-4 +",
      "constant Companion.LIMIT 4-4 +",
      "field Shop.open 5-5",
      "method Shop.open 6-9 +",
      "interface Opener 11-11 +",
      "method Opener.open 11-11 +",
      "type State 12-12 +",
      "constant State.OPEN 12-12 +",
      "function twice 13-13 +",
      "type Shops 14-14 +",
    ],
  },
  {
    path: "Shop.cs",
    text: `using System.Text;
namespace Trade {
  /// <summary>Sells.</summary>
  [Serializable]
  public class Shop : Base {
    private readonly int size = 3, rest;
    public string Name { get; set; }
    public Shop(int n) : base(n) { }
    public async Task<int> Open<T>(int at) where T : class
    {
      int Inner(int q) => q;
      var local = 1;
      return Inner(local);
    }
  }
  interface IOpener { int Open(); }
  enum State { Open = 1 }
}
`,
    defines: [
      "module Trade 2-18 +",
      "class Shop 3-15 +",
      "field Shop.size 6-6",
      "field Shop.rest 6-6",
      "field Shop.Name 7-7 +",
      "method Shop.Shop 8-8 +",
      "method Shop.Open 9-14 +",
      "function Inner 11-11",
      "interface IOpener 16-16",
      "method IOpener.Open 16-16",
      "type State 17-17",
      "constant State.Open 17-17",
    ],
  },
  {
    path: "shop.php",
    text: `<?php
/** Sells. */
#[Service]
abstract class Shop extends Base {
  const LIMIT = 3;
  private ?int $size = 0;
  public static function open(int $at, $n = 2): int {
    $inner = fn($x) => $x;
    return $inner($at);
  }
}
interface Opener { function open(); }
enum State { case Open; }
function helper() {}
`,
    defines: [
      "class Shop 2-11 +",
      "constant Shop.LIMIT 5-5 +",
      "field Shop.size 6-6",
      "method Shop.open 7-10 +",
      "function inner 8-8",
      "interface Opener 12-12 +",
      "method Opener.open 12-12 +",
      "type State 13-13 +",
      "constant State.Open 13-13 +",
      "function helper 14-14 +",
    ],
  },
];
