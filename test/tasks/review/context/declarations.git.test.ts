import { describe, expect, it } from "vitest";
import { changeMessage, codeAround, firstMessageOf, manyLines, pieceOf } from "./first-message.ts";

const goType = (name: string) =>
  `package proxy\n\n// ${name} is a backend.\ntype ${name} struct {\n\t// How many requests it takes.\n\tMaxRequests int\n\n\t// The address to connect to.\n\t// Without a port it means 80.\n\tDial string\n\n\tcount int\n}\n`;

describe("types of members in the first message", () => {
  it("The fields of a Go struct come with their comments", async () => {
    const source = (value: string) =>
      `package proxy\n\nfunc open(u *Upstream) string {\n\treturn ${value}\n}\n`;
    const message = await changeMessage("proxy/open.go", source, ['""', "u.Dial"], {
      "proxy/hosts.go": goType("Upstream"),
      "far/x.go": goType("Other"),
    });
    const piece = pieceOf(message, "proxy/hosts.go", "class Upstream with Dial, which open uses");
    expect(piece).toContain(
      "3|// Upstream is a backend.\n4|type Upstream struct {\n5|\t// How many requests",
    );
    expect(piece).toContain("9|\t// Without a port it means 80.\n10|\tDial string");
    expect(pieceOf(message, "far/x.go")).toBe("");
  });

  it("A type is found by a key of a Go literal", async () => {
    const source = (value: string) =>
      `package proxy\n\nfunc make() *Upstream {\n\treturn &Upstream{${value}}\n}\n`;
    const message = await changeMessage("proxy/make.go", source, ["", 'Dial: "localhost"'], {
      "proxy/hosts.go": goType("Upstream"),
    });
    expect(pieceOf(message, "class Upstream with Dial")).toContain("8|\t// The address to connect to.");
  });

  it("A long type is cut to the lines around the member", async () => {
    const members = (from: number) =>
      Array.from({ length: 30 }, (_, at) => `  m${from + at}: number;\n`).join("");
    const type = `export interface Options {\n${members(0)}  /** Tries after the first one. */\n  retries?: number;\n${members(30)}}\n`;
    const source = (value: string) =>
      `import type { Options } from "./options";\nexport function send(opts: Options) {\n  return ${value};\n}\n`;
    const message = await changeMessage("src/send.ts", source, ["1", "opts.retries"], {
      "src/options.ts": type,
    });
    const piece = pieceOf(message, "src/options.ts", "interface Options with retries");
    expect(piece).toContain("1|export interface Options {\n...\n");
    expect(piece).toContain("32|  /** Tries after the first one. */\n33|  retries?: number;");
    expect(piece.split("\n").length).toBeLessThan(25);
  });

  it("A TypeScript class is found by the properties of its constructor", async () => {
    const type = "export class Client {\n  constructor(private readonly socketPath: string) {}\n}\n";
    const source = (value: string) => `export function show(client: Client) {\n  return ${value};\n}\n`;
    const message = await changeMessage("src/show.ts", source, ["1", "client.socketPath"], {
      "src/client.ts": type,
    });
    expect(pieceOf(message, "src/client.ts", "class Client with socketPath")).toContain("private readonly");
  });

  it("A Python class is found as a dataclass and by what __init__ sets", async () => {
    const data =
      "@dataclass\nclass Limits:\n    # Seconds; None waits for ever.\n    wait_for: float = 3.0\n";
    const own = `class Client:\n    def __init__(self, proxy_url):\n        # Without a trailing slash.\n        self.proxy_url = proxy_url\n`;
    const source = (value: string) => `def call(client, limits):\n    return ${value}\n`;
    const message = await changeMessage("app/call.py", source, ["0", "limits.wait_for + client.proxy_url"], {
      "app/limits.py": data,
      "app/client.py": own,
    });
    expect(pieceOf(message, "app/limits.py", "class Limits with wait_for")).toContain(
      "3|    # Seconds; None",
    );
    expect(pieceOf(message, "app/client.py", "class Client with proxy_url")).toContain(
      "3|        # Without a",
    );
  });

  it("A Java record is found by its components", async () => {
    const source = (value: string) =>
      `class Bill {\n  int sum(Order order) {\n    return ${value};\n  }\n}\n`;
    const message = await changeMessage("Bill.java", source, ["0", "order.netTotal + 1"], {
      "Order.java": "/** Cents. */\nrecord Order(\n    int netTotal,\n    int tax) {}\n",
    });
    expect(pieceOf(message, "Order.java", "class Order with netTotal")).toContain("1|/** Cents. */");
  });

  it("Kotlin constructors, C# records and classes, and JavaScript classes are found by their properties", async () => {
    const message = await firstMessageOf(
      {
        "k/use.kt": "fun show(order: Order): Int {\n    return 0\n}\n",
        "k/Order.kt": "// Cents.\nclass Order(\n    val netTotal: Int,\n)\n",
        "c/Use.cs": "class Use {\n  int Show(Row row, Cell cell) {\n    return 0;\n  }\n}\n",
        "c/Row.cs": "// Kept.\nrecord Row(\n  int RowHeight);\n",
        "c/Cell.cs": "class Cell {\n  // Pixels.\n  public int CellWidth { get; set; }\n}\n",
        "j/use.js": "export function show(pool) {\n  return 0;\n}\n",
        "j/pool.js":
          "export class Pool {\n  constructor(size) {\n    // Sockets.\n    this.maxOpen = size;\n  }\n}\n",
      },
      {
        "k/use.kt": "fun show(order: Order): Int {\n    return order.netTotal\n}\n",
        "c/Use.cs":
          "class Use {\n  int Show(Row row, Cell cell) {\n    return row.RowHeight + cell.CellWidth;\n  }\n}\n",
        "j/use.js": "export function show(pool) {\n  return pool.maxOpen;\n}\n",
      },
    );
    expect(pieceOf(message, "k/Order.kt", "with netTotal")).toContain("1|// Cents.");
    expect(pieceOf(message, "c/Row.cs", "with RowHeight")).toContain("1|// Kept.");
    expect(pieceOf(message, "c/Cell.cs", "with CellWidth")).toContain("2|  // Pixels.");
    expect(pieceOf(message, "j/pool.js", "with maxOpen")).toContain("3|    // Sockets.");
  });

  it("A C struct is found in a header", async () => {
    const header =
      "struct stream {\n  int fd;\n  /* Bytes that are not written yet. */\n  size_t queued;\n};\n";
    const source = (value: string) =>
      `#include "stream.h"\nint flush(struct stream *s) {\n  return ${value};\n}\n`;
    const message = await changeMessage("src/flush.c", source, ["0", "s->queued > 0"], {
      "src/stream.h": header,
    });
    expect(pieceOf(message, "src/stream.h", "class stream with queued")).toContain(
      "3|  /* Bytes that are not written yet. */\n4|  size_t queued;",
    );
  });

  it("A type is shown once for all of its members", async () => {
    const source = (value: string) => `package proxy\n\nfunc open(u *Upstream) {\n${value}}\n`;
    const message = await changeMessage(
      "proxy/open.go",
      source,
      ["", "\tuse(u.Dial)\n\tu.MaxRequests = 3\n"],
      { "proxy/hosts.go": goType("Upstream") },
    );
    expect(pieceOf(message, "class Upstream with Dial, MaxRequests")).not.toBe("");
    expect(codeAround(message).match(/^### .*class Upstream/gm)).toHaveLength(1);
  });
});

describe("members that the first message leaves out", () => {
  it("A member is left out if too many distant types have one of that name", async () => {
    const types = ["a", "b", "c"].map((name) => [`lib/${name}/t.go`, goType(`T${name}`)]);
    const source = (value: string) => `package proxy\n\nfunc open(x any) string {\n\treturn ${value}\n}\n`;
    const message = await changeMessage("proxy/open.go", source, ['""', "x.Dial"], {
      ...Object.fromEntries(types),
    });
    expect(codeAround(message)).not.toContain("struct {");
  });

  it("A member is left out if the object is clearly of another type", async () => {
    const source = (value: string) =>
      `package proxy\n\nfunc open(c *Client, u Upstream) string {\n\treturn ${value}\n}\n`;
    const message = await changeMessage("proxy/open.go", source, ['""', "c.Dial"], {
      "proxy/hosts.go": goType("Upstream"),
    });
    expect(codeAround(message)).not.toContain("struct {");
  });

  it("An inherited member is left out if a type with its own one asks for it", async () => {
    const source = (value: string) =>
      `class Child(Other):\n    row_limit = 3\n\n${manyLines("    # remark", 12)}\n    def limit(self):\n        return ${value}\n`;
    const message = await changeMessage("child.py", source, ["0", "super().row_limit"]);
    expect(codeAround(message)).not.toContain("with row_limit");
  });

  it("A member is left out if a variable has its name", async () => {
    const source = (value: string) =>
      `package proxy\n\nfunc open(Dial string) string {\n\treturn ${value}\n}\n`;
    const message = await changeMessage("proxy/open.go", source, ['""', "Dial"], {
      "proxy/hosts.go": goType("Upstream"),
    });
    expect(codeAround(message)).not.toContain("struct {");
  });

  it("A member that a private file declares is left out", async () => {
    const source = (value: string) =>
      `package proxy\n\nfunc open(u *Upstream) string {\n\treturn ${value}\n}\n`;
    const message = await changeMessage(
      "proxy/open.go",
      source,
      ['""', "u.Dial"],
      { "proxy/secret/hosts.go": goType("Upstream") },
      { private: ["proxy/secret/"] },
    );
    expect(message).not.toContain("The address to connect to");
  });

  it("A member that the diff shows is left out", async () => {
    const type = (more: string) =>
      `class Order {\n${more}${manyLines("  // remark", 12)}  int sum() {\n    return 0;\n  }\n}\n`;
    const message = await firstMessageOf(
      { "a/Order.java": type("") },
      { "a/Order.java": type("  int netTotal;\n").replace("return 0", "return this.netTotal") },
    );
    expect(codeAround(message)).not.toContain("with netTotal");
  });
});
