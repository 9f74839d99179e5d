import { expect, it } from "vitest";
import { callersOf, openTexts } from "./open-texts.ts";

it("finds Python calls of a base class's constructor, by super and by name, past classes that inherit it", async () => {
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

it("resolves Python names to imports of their function, and a variable called cls to its value", async () => {
  using graph = await openTexts({
    "inner.py": "def page():\n    pass\n\nclass Box:\n    def fill(self):\n        pass\n",
    "outer.py": `def page():
    from inner import page
    page()

class Case:
    kind: type["Box"]
    def check(self):
        from inner import Box
        cls = Box
        cls().fill()
    def other(self):
        class Local(Box2):
            def nap(self):
                pass
        Local().nap()

page()
`,
  });
  expect(callersOf(graph, "page", "inner.py")).toEqual(["outer.py:3"]);
  expect(callersOf(graph, "page", "outer.py")).toEqual(["outer.py:17"]);
  expect(callersOf(graph, "fill")).toEqual(["outer.py:10"]);
  expect(callersOf(graph, "nap")).toEqual(["outer.py:15"]);
});

it("finds Go methods of embedded types, test tables and named lists, and by type", async () => {
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
