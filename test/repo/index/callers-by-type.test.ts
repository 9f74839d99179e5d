import { expect, it } from "vitest";
import { callersOf, openTexts } from "./open-texts.ts";

it("Python calls of a base class's constructor are found, by super and by name", async () => {
  using graph = await openTexts({
    "base.py": "class Base:\n    def __init__(self, a):\n        pass\n\nclass Middle(Base):\n    pass\n",
    "subs.py": `from base import Base, Middle
import base

class One(Base):
    def __init__(self):
        super().__init__(1)

class Two(Middle):
    def __init__(self):
        super(Two, self).__init__(1)

class Three(base.Base):
    def __init__(self):
        base.Base.__init__(self, 1)

class Four(One):
    def __init__(self):
        super().__init__()
`,
  });
  expect(callersOf(graph, "__init__", "base.py")).toEqual(["subs.py:10", "subs.py:14", "subs.py:6"]);
  expect(callersOf(graph, "Base")).toEqual([]);
});

it("Python names mean the imports and classes of their function", async () => {
  using graph = await openTexts({
    "inner.py": "def page():\n    pass\n\nclass Box:\n    def fill(self):\n        pass\n",
    "outer.py": `def page():
    from inner import page
    page()

class Case:
    def check(self):
        from inner import Box
        Box().fill()
    def other(self):
        class Local(Box2):
            def nap(self):
                pass
        Local().nap()

page()
`,
  });
  expect(callersOf(graph, "page", "inner.py")).toEqual(["outer.py:3"]);
  expect(callersOf(graph, "page", "outer.py")).toEqual(["outer.py:15"]);
  expect(callersOf(graph, "fill")).toEqual(["outer.py:8"]);
  expect(callersOf(graph, "nap")).toEqual(["outer.py:13"]);
});

it("Go methods are found on embedded types, by type, and by a unique name", async () => {
  using graph = await openTexts({
    "go.mod": "module example.com/app\n",
    "a.go": `package app

type TLSRoute struct{}

func (t *TLSRoute) Go() {}
func (t *TLSRoute) Reset() {}

type Routes []*TLSRoute

type Site struct{ *TLSRoute }

func run(site Site, routes Routes, any interface{}) {
	site.TLSRoute.Go()
	for _, one := range routes {
		one.Go()
	}
	if route, ok := any.(*TLSRoute); ok {
		route.Go()
	}
	(*TLSRoute).Reset(nil)
	switch found := any.(type) {
	case *TLSRoute:
		found.Reset()
	}
	pick[Site](nil)
}

func pick[T any](list []T) {}
`,
    "a_test.go": `package app

func TestRun() {
	for _, tc := range []struct {
		route *TLSRoute
		name  string
	}{{}} {
		tc.route.Go()
	}
	tests := []struct{ in TLSRoute }{{}}
	for _, tc := range tests {
		tc.in.Go()
	}
	tests[0].in.Reset()
}
`,
  });
  expect(callersOf(graph, "Go")).toEqual(["a.go:13", "a.go:15", "a.go:18", "a_test.go:12", "a_test.go:8"]);
  expect(callersOf(graph, "Reset")).toEqual(["a.go:20", "a.go:23", "a_test.go:14"]);
  expect(callersOf(graph, "pick")).toEqual(["a.go:25"]);
});

it("Go calls are found through aliases, named results and generic functions", async () => {
  using graph = await openTexts({
    "go.mod": "module example.org/shop/v2\n",
    "shop.go": `package shop

import m "example.org/shop/v2/money"

type Cart struct{}

func New() *Cart { return &Cart{} }

func (c *Cart) Total() (sum m.Money) {
	sum.Plus(nil)
	if New := m.Of(1); New != nil {
		New()
	}
	m.Map[int, Cart](nil)
	New().Total()
	return
}
`,
    "money/money.go": `package money

type Money struct{}

func (m *Money) Plus(o *Money) {}
func Of(cents int) func() { return nil }
func Map[A, B any](a []A) []B { return nil }
func show() string { return text() }
`,
    "money/text_linux.go": 'package money\n\nfunc text() string { return "" }\n',
    "money/text_windows.go": 'package money\n\nfunc text() string { return "" }\n',
    "other/other.go": "package other\n\ntype Sum struct{}\n\nfunc (s Sum) Plus() {}\n",
  });
  expect(callersOf(graph, "Plus", "money/money.go")).toEqual(["shop.go:10"]);
  expect(callersOf(graph, "Plus", "other/other.go")).toEqual([]);
  expect(callersOf(graph, "Of")).toEqual(["shop.go:11"]);
  expect(callersOf(graph, "New")).toEqual(["shop.go:15"]);
  expect(callersOf(graph, "Map")).toEqual(["shop.go:14"]);
  expect(callersOf(graph, "Total")).toEqual(["shop.go:15"]);
  for (const path of ["money/text_linux.go", "money/text_windows.go"])
    expect(callersOf(graph, "text", path)).toEqual(["money/money.go:8"]);
});
