import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { CallersOutput } from "../../../src/agent/tools/find-callers.ts";
import { MAX_RENDERED_BYTES } from "../../../src/repo/show.ts";
import { GitRepo } from "../../support/git-repo.ts";
import { type ContextOptions, openRepository, toolsOn } from "./context.ts";

let repo: GitRepo;
let opened: Awaited<ReturnType<typeof openRepository>>;
const open = (options: ContextOptions = {}) => toolsOn(opened.workspace, options);

beforeAll(async () => {
  repo = GitRepo.create();
  repo.commit("base", { "README.md": "# Rates\n" });
  repo.branch("topic");
  repo.commit("change", {
    "src/rate.ts":
      "export function rate(total: number): number {\n  return total > 1 ? rate(total / 2) : total;\n}\nexport const half = () => rate(0.5);\n",
    "src/order.ts":
      "import { rate } from './rate.ts';\n\nexport function charge(total: number) {\n  const sum = rate(total);\n  return sum + rate(1);\n}\n\nexport const base = rate(2);\n",
    "lib/bill.ts": "import { rate } from '../src/rate.ts';\nexport const bill = [1, 2].map(rate);\n",
    "test/rate.test.ts":
      "import { rate } from '../src/rate.ts';\nit('rates', () => {\n  expect(rate(1)).toBe(1);\n});\n",
    "docs/rate.md": "Call rate(total).\n",
    "vendor/rate.js": "rate(1);\n",
    "secrets/use.ts": "import { rate } from '../src/rate.ts';\nrate(7); // CANARY\n",
    "src/lonely.ts": "export function lonely() {}\nexport function tested() {}\n",
    "test/lonely.test.ts": "import { tested } from '../src/lonely.ts';\ntested();\n",
    "src/store.ts": "export interface Store {\n  fetchAll(key: string): string;\n}\n",
    "src/disk-store.ts":
      "import type { Store } from './store.ts';\n\nexport class DiskStore implements Store {\n  fetchAll(key: string) {\n    return key;\n  }\n}\n",
    "src/user.ts":
      "import type { Store } from './store.ts';\nimport { DiskStore } from './disk-store.ts';\n\nexport function show(store: Store) {\n  return store.fetchAll('a');\n}\nexport function direct() {\n  const disk = new DiskStore();\n  return disk.fetchAll('b');\n}\n",
    "src/other.ts":
      "class Crawler {\n  fetchAll() {}\n  again() {\n    this.fetchAll();\n  }\n}\nexport function crawl(page: Crawler) {\n  page.fetchAll();\n}\n",
    "go/go.mod": "module example.com/go\n",
    "go/shape.go":
      "package shape\n\ntype Shape interface {\n\tAreaOf() int\n}\n\nfunc Sum(s Shape) int {\n\treturn s.AreaOf()\n}\n",
    "go/square.go":
      "package shape\n\ntype Square struct{}\n\nfunc (q Square) AreaOf() int {\n\treturn 4\n}\n",
    "py/cart.py": "class Cart:\n    def __init__(self, rate):\n        self.rate = rate\n",
    "py/shop.py": "from cart import Cart\n\ndef open_shop():\n    return Cart(1)\n",
  });
  opened = await openRepository(repo);
});
afterAll(async () => {
  await opened?.[Symbol.asyncDispose]();
  repo?.dispose();
});

describe("find_callers", () => {
  const find = (name: string, file_path: string) =>
    open().output<CallersOutput>("find_callers", { name, file_path });
  const placesOf = ({ callers }: CallersOutput) =>
    callers.map((one) => `${one.file_path}:${one.line_number}${one.through ? ` ${one.through}` : ""}`);

  it("find_callers lists the places outside of the file with the functions around them", async () => {
    const { text } = await open({ private: ["secrets/"] }).run("find_callers", {
      ...{ name: "rate", file_path: "src/rate.ts" },
    });

    expect(text.split("\n")).toEqual([
      "src/rate.ts, rate, lines 1-3: 5 uses outside of its file, in 3 files",
      "src/order.ts",
      "-- in charge (3-6)",
      "4:  const sum = rate(total);",
      "5:  return sum + rate(1);",
      "-- at top level",
      "8:export const base = rate(2);",
      "lib/bill.ts",
      "-- at top level",
      "2:export const bill = [1, 2].map(rate);",
      "Tests and examples:",
      "test/rate.test.ts",
      "-- in rates (2-4)",
      "3:  expect(rate(1)).toBe(1);",
      "In its own file: line 4",
      "Probably something else of that name: py/cart.py:3",
      "Named in: docs/rate.md",
      "Vendored and generated, not read: 1 file",
    ]);
  });

  it("find_callers says plainly that nothing uses it, or nothing but tests", async () => {
    const textOf = async (name: string) =>
      (await open().run("find_callers", { name, file_path: "src/lonely.ts" })).text.split("\n")[0];

    expect(await textOf("lonely")).toBe(
      "src/lonely.ts, lonely, lines 1-1: nothing outside of its file uses it",
    );
    expect(await textOf("tested")).toBe(
      "src/lonely.ts, tested, lines 2-2: nothing outside of its file uses it, except 1 use in tests and examples",
    );
  });

  it("find_callers includes calls through an interface that declares the method, marked", async () => {
    const output = await find("DiskStore.fetchAll", "src/disk-store.ts");

    expect(placesOf(output)).toEqual(["src/user.ts:5 Store.fetchAll", "src/user.ts:9"]);
    expect(output.unsure).toEqual([
      { file_path: "src/other.ts", line_number: 4 },
      { file_path: "src/other.ts", line_number: 8 },
    ]);
    const { text } = await open().run("find_callers", { name: "fetchAll", file_path: "src/disk-store.ts" });
    expect(text).toContain("5 through Store.fetchAll:  return store.fetchAll('a');");
  });

  it("find_callers takes every interface of Go with the method for one that it implements", async () => {
    expect(placesOf(await find("Square.AreaOf", "go/square.go"))).toEqual(["go/shape.go:8 Shape.AreaOf"]);
  });

  it("find_callers finds who makes an object by the name of its type", async () => {
    expect(placesOf(await find("Cart.__init__", "py/cart.py"))).toEqual(["py/shop.py:4"]);
  });

  it("find_callers shows nothing of private files", async () => {
    const tools = open({ private: ["secrets/"] });
    const { result, text } = await tools.run("find_callers", { name: "rate", file_path: "src/rate.ts" });
    expect(text + JSON.stringify(result)).not.toMatch(/CANARY|secrets/);
    expect(await tools.error("find_callers", { name: "x", file_path: "secrets/use.ts" })).toContain(
      "withheld by configuration",
    );
  });

  it.each([
    [
      "a name that the file does not define",
      { name: "rate", file_path: "src/order.ts" },
      "no definition of 'rate' in 'src/order.ts'; it is defined in src/rate.ts:1",
    ],
    [
      "a name that nothing defines",
      { name: "nowhere", file_path: "src/order.ts" },
      "no definition of 'nowhere' in 'src/order.ts'",
    ],
    [
      "no name",
      { name: "()", file_path: "src/order.ts" },
      "'()' is not a name; give one like parse or Parser.next",
    ],
  ])("find_callers refuses %s", async (_, sent, error) => {
    expect(await open().error("find_callers", sent)).toBe(error);
  });
});

/** Four classes with methods of one name, so that only declared types tell their calls apart. */
const desks: Record<string, string> = {
  "j/Desk.java": "interface Desk {\n  void hand(String paper);\n}\n",
  "j/Front.java":
    "class Front implements Desk {\n  public void hand(String paper) {}\n  void own(Front f) { f.hand(null); }\n}\n",
  "j/Corner.java": "class Corner extends Front {\n}\n",
  "j/Card.java": "class Card {\n  void hand(String paper) {}\n}\n",
  "j/Clock.java": "class Clock {\n  void hand(String paper) {}\n}\n",
  "j/Wave.java": "class Wave {\n  void hand(String paper) {}\n}\n",
  "j/Hall.java":
    "class Hall {\n  Desk counter() { return null; }\n  Corner niche() { return null; }\n  Clock tower() { return null; }\n}\n",
  "k/Calls.java": [
    "class Calls {",
    "  private final Desk table;",
    "  private final Card sheet;",
    "  void all(Hall hall, Object any) {",
    '    hall.counter().hand("chained");',
    '    hall.niche().hand("heir");',
    '    ((Front) any).hand("cast");',
    '    table.hand("field");',
    "    var given = hall.counter();",
    '    given.hand("assigned");',
    '    hall.tower().hand("another type");',
    '    ((Clock) any).hand("another cast");',
    '    sheet.hand("another field");',
    "  }",
    "}",
    "",
  ].join("\n"),
  "t/room.ts":
    "export interface Wing {\n  hand(paper: string): void;\n}\nexport class Room implements Wing {\n  hand(paper: string) {}\n}\nexport class House {\n  wing(): Promise<Wing> {\n    throw 0;\n  }\n}\n",
  "t/calls.ts":
    "export async function all(house: any, any: any) {\n  (await house.wing()).hand('chained');\n  (any as Room).hand('cast');\n  (any as Card).hand('another cast');\n}\n",
};

it("find_callers tells calls through interfaces, casts and other calls by what is declared", async () => {
  using own = GitRepo.create();
  own.commit("base", desks);
  own.branch("topic");
  await using over = await openRepository(own);
  const calls = async (name: string, file_path: string) => {
    const output = await toolsOn(over.workspace).output<CallersOutput>("find_callers", { name, file_path });
    const there = output.callers.filter((one) => /calls\.|Calls\./.test(one.file_path));
    return there.map((one) => `${/["'](.*)["']/.exec(one.line_content)?.[1]} ${one.through ?? ""}`.trim());
  };
  expect(await calls("Front.hand", "j/Front.java")).toEqual([
    "chained Desk.hand",
    "heir Corner.hand",
    "cast",
    "field Desk.hand",
    "assigned Desk.hand",
  ]);
  expect(await calls("Clock.hand", "j/Clock.java")).toEqual(["another type", "another cast"]);
  expect(await calls("Card.hand", "j/Card.java")).toEqual(["another field"]);
  expect(await calls("Room.hand", "t/room.ts")).toEqual(["chained Wing.hand", "cast"]);
});

describe("the callers of a name that thousands of lines use", () => {
  it("The callers of a frequent name are the nearest ones", async () => {
    using bulky = GitRepo.create({ bare: true });
    const uses = Array.from(
      { length: 200 },
      (_, at) => [`a/use${at}.py`, "from z.common import common_one\n\ncommon_one(1)\n".repeat(20)] as const,
    );
    bulky.importCommits([
      { branch: "main", files: [] },
      {
        branch: "topic",
        parents: ["main"],
        files: [...uses, ["z/common.py", "def common_one(number):\n    return number\n"]],
      },
    ]);
    await using over = await openRepository(bulky);
    const { run } = toolsOn(over.workspace);
    const { result, text } = await run("find_callers", { name: "common_one", file_path: "z/common.py" });

    expect(result).toMatchObject({ status: "success", metadata: { truncated: true } });
    expect(text).toContain("(Some files that hold the name were not searched.)");
    expect(Buffer.byteLength(text)).toBeLessThan(MAX_RENDERED_BYTES);
    const shown = text.split("\n").filter((line) => /^\d+:/.test(line)).length;
    const total = Number(/: ([\d,]+) uses/.exec(text)?.[1]?.replace(",", ""));
    const further = Number(/\(([\d,]+) further use/.exec(text)?.[1]?.replace(",", "") ?? 0);
    expect(shown).toBeGreaterThan(100);
    expect(shown + further).toBe(total);
  });
});
