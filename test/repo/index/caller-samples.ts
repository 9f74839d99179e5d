/** Small repositories whose callers a reader can name. */

export const typescriptFiles: Record<string, string> = {
  "web/range.ts": "export function parseRange(text: string) {\n  return text;\n}\n",
  "web/index.ts": 'export { parseRange as readRange } from "./range.ts";\n',
  "web/direct.ts":
    'import { parseRange } from "./range.ts";\nexport function direct() {\n  return parseRange("1");\n}\n',
  "web/aliased.ts":
    'import { parseRange as parse } from "./range";\n\nexport const aliased = () => parse("1");\n',
  "web/handed-on.ts":
    'import { readRange } from "./index.js";\n\nexport const handedOn = () => readRange("1");\n',
  "web/module.ts":
    'import * as range from "./range.ts";\n\nexport const module = () => range.parseRange("1");\n',
  "web/format.ts": "export function format() {}\nexport function all() {\n  format();\n}\n",
  "web/own-format.ts":
    "function format() {}\nexport function other(run: () => void) {\n  format();\n  const inner = () => {\n    const format = run;\n    format();\n  };\n  inner();\n}\n",
  "web/store.ts":
    "export class Store {\n  constructor(readonly path: string) {}\n  persist(key: string): string {\n    return this.path + key;\n  }\n}\nexport async function openStore(): Promise<Store> {\n  return new Store('a');\n}\n",
  "web/uses-store.ts":
    'import { openStore, Store } from "./store.ts";\n\nexport async function use(given: Store, { inner }: Options) {\n  new Store("b").persist("x");\n  given.persist("y");\n  const map = new Map<string, string>();\n  map.set("a", "b");\n  (await openStore()).persist("z");\n}\n\ninterface Options {\n  inner: Store;\n}\nexport const late = (options: Options) => options.inner.persist("w");\n',
  "web/sender.ts": "export interface Sender {\n  send(text: string): void;\n}\n",
  "web/mailer.ts":
    'import type { Sender } from "./sender.ts";\nexport class Mailer implements Sender {\n  send(text: string) {}\n}\n',
  "web/uses-mailer.ts":
    'import type { Sender } from "./sender.ts";\nexport function notify(sender: Sender) {\n  sender.send("x");\n}\n',
};

export const pythonFiles: Record<string, string> = {
  "pkg/store.py": `
class Base:
    def shut(self):
        pass

class Shelf(Base):
    def __init__(self, path):
        self.path = path
        self.cache = make_cache()

    def load(self, key):
        return self.cache.fetch_row(key)

class Cache:
    def fetch_row(self, key):
        return key

def make_cache():
    return Cache()
`,
  "pkg/__init__.py": "from .store import Shelf\nfrom . import util\n",
  "pkg/util.py": "def helper(x):\n    return x\n",
  "app.py": `
import pkg
from pkg import Shelf, util
from pkg.util import helper as h

def main(fetch_row):
    s = Shelf("a")
    s.load("x")
    s.shut()
    util.helper(1)
    h(2)
    pkg.util.helper(3)
    fetch_row("nope")
    with Shelf("b") as t:
        t.load("y")
`,
};

export const goFiles: Record<string, string> = {
  "go.mod": "module example.com/app\n",
  "vault/vault.go": `package vault

type Vault struct {
	cache *Cache
}

type Cache struct{}

func NewVault() (*Vault, error) { return &Vault{cache: &Cache{}}, nil }

func (s *Vault) Load(k string) string {
	return k
}
`,
  "vault/more.go": `package vault

func Open() *Vault {
	s, _ := NewVault()
	s.Load("x")
	return s
}
`,
  "cmd/main.go": `package main

import "example.com/app/vault"

func main() {
	s, err := vault.NewVault()
	_ = err
	s.Load("b")
	for _, one := range []*vault.Vault{s} {
		one.Load("c")
	}
	vault.Open().Load("d")
}
`,
};

export const rustFiles: Record<string, string> = {
  "crate/src/scale.rs":
    "pub fn weigh_all() -> u32 {\n    1\n}\n\npub fn twice() -> u32 {\n    weigh_all() * 2\n}\n",
  "crate/src/main.rs": "use crate::scale::weigh_all;\n\nfn main() {\n    weigh_all();\n}\n",
};
