import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { checkSuggestion } from "../../../src/tasks/anchor/suggestion/check-suggestion.ts";

const folder = join(import.meta.dirname, "../../../fixtures/suggestions");
const sample = (name: string) => readFileSync(join(folder, name), "utf8").trimEnd();

/** The lines that hold the first text and, from there on, the second one; 1-indexed. */
function linesWith(lines: readonly string[], first: string, last = first) {
  const start = lines.findIndex((line) => line.includes(first));
  const end = lines.findIndex((line, at) => at >= start && line.includes(last));
  if (start < 0 || end < 0) throw new Error(`no '${first}' to '${last}'`);
  return { start: start + 1, end: end + 1 };
}

/** Where a suggestion goes: a sample's name, and what its first and last line hold. */
type Anchor = readonly [file: string, first: string, last?: string];

function check([file, first, last]: Anchor, suggestion: string, change = (line: string) => line) {
  const lines = sample(file).split("\n");
  return checkSuggestion({
    path: `src/${file}`,
    lines: lines.map(change),
    ...linesWith(lines, first, last),
    suggestion,
  });
}

/** A check of a short file given as text, of which one line is replaced. */
const checkLine = (path: string, text: string, line: number, suggestion: string) =>
  checkSuggestion({ path, lines: text.split("\n"), start: line, end: line, suggestion });

const text = (...lines: string[]) => lines.join("\n");
const gross = ["cart.ts", "const gross"] as const;
const passed = (suggestion: string, ...repairs: string[]) => ({ ok: true, suggestion, repairs });

describe("a suggestion that fits", () => {
  it.each<[string, Anchor, string]>([
    ["changes a line", gross, "      const gross = item.price.cents * (item.quantity + 1);"],
    [
      "makes one line of several",
      ["cart.ts", "if (item.quantity <= 0)", "    }"],
      "    if (item.quantity <= 0) this.items.delete(sku);",
    ],
    [
      "wraps a line",
      ["store.go", "session.Created = time.Now()"],
      text("\tif session.Created.IsZero() {", "\t\tsession.Created = time.Now()", "\t}"),
    ],
    [
      "puts something in front of a block's end",
      ["cart.ts", "} finally {"],
      text("      this.flush();", "    } finally {"),
    ],
    [
      "repeats a statement in another block",
      ["ring.c", "if (ring->data == NULL)"],
      "    if (ring->data == NULL || size == 0) {",
    ],
    [
      "holds quotes and brackets in a regular expression",
      ["cart.ts", "const separators"],
      "const separators = /[;,|)}'\"`]\\s*/g;",
    ],
    ["holds quotes in a character", ["ring.c", "ring->head = 0"], "    ring->head = '\\'' - '\"';"],
    [
      "holds a lifetime",
      ["lines.rs", "pub fn parse_line"],
      "pub fn parse_line<'a>(text: &'a str, line: usize) -> Result<Entry<'a>, ParseError> {",
    ],
    [
      "changes text of a string",
      ["report.py", "Amounts are in cents"],
      "    Amounts are in cents, without a point:",
    ],
    [
      "changes a script in YAML",
      ["deploy.yml", "docker tag"],
      '          docker tag app:$GITHUB_SHA "app:v1"',
    ],
    ["is an expression of a workflow", ["deploy.yml", "REGION:"], `  REGION: $${"{{ vars.REGION }}"}`],
    ["adds a key to JSON", ["settings.json", '"port"'], text('    "port": 8081,', '    "tls": true,')],
    ["is an emoji", gross, '      const gross = weigh(item, "\u26A0\uFE0F");'],
    [
      "talks of the rest of something",
      gross,
      text("      // The rest of the sum is added below.", "      const gross = item.price.cents;"),
    ],
  ])("A suggestion is kept as it is when it %s", async (_, anchor, suggestion) => {
    expect(await check(anchor, suggestion)).toEqual(passed(suggestion));
  });

  it("An empty suggestion deletes its lines, as on GitHub", async () => {
    expect(await check(["cart.ts", "const started"], "")).toEqual(passed(""));
    expect(await check(["cart.ts", "const started"], "```suggestion\n```")).toMatchObject({
      ok: true,
      suggestion: "",
    });
  });

  it("A suggestion is kept in a file that does not parse elsewhere, and if it makes the file parse", async () => {
    const broken = text("const a = 1;", "foo(;", "const b = 2;", "const c = 3;");
    expect(await checkLine("a.ts", broken, 4, "const c = 4;")).toEqual(passed("const c = 4;"));
    expect(await checkLine("a.ts", broken, 2, "foo();")).toEqual(passed("foo();"));
  });

  it("A suggestion in JSON may hold comments and trailing commas if the file has them", async () => {
    const file = text("{", "  // why", '  "strict": true,', "}");
    expect(await checkLine("tsconfig.json", file, 3, '  "strict": false,')).toMatchObject({ ok: true });
  });
});

const wanted = "      const gross = item.price.cents;";
const fromFile = "the indentation was adapted to the file";

describe("a suggestion that can be repaired", () => {
  it.each<[string, string, string[]]>([
    ["a line feed at its end", `${wanted}\n`, []],
    ["empty lines around it", `\n\n${wanted}\n\n`, []],
    ["a fence", text("```", wanted, "```"), ["the Markdown fence around it was removed"]],
    ["a fence with a language", text("```ts", wanted, "```"), ["the Markdown fence around it was removed"]],
    [
      "a fence in a fence",
      text("````suggestion", "```ts", wanted, "```", "````"),
      ["the Markdown fence around it was removed"],
    ],
    [
      "a fence in one of the same length",
      text("```suggestion", "```", wanted, "```", "```"),
      ["the Markdown fence around it was removed"],
    ],
    ["the plus signs of a diff", `+${wanted}`, ["diff signs were removed"]],
    [
      "the lines of a diff",
      text("@@ -49,1 +49,1 @@", "-      const gross = item.price.cents * item.quantity;", `+${wanted}`),
      ["diff signs were removed"],
    ],
    ["the number of a listing", `50| ${wanted}`, ["line numbers were removed"]],
    ["the number of a diff", `50 +${wanted}`, ["line numbers were removed"]],
    ["no indentation", wanted.trim(), [fromFile]],
    ["too much indentation", `    ${wanted}`, [fromFile]],
    ["tabs", `\t\t\t${wanted.trim()}`, [fromFile]],
    [
      "the line before it",
      text("    for (const item of this.items.values()) {", wanted),
      ["copies of the lines directly before it were removed"],
    ],
    [
      "the lines after it",
      text(wanted, "      sum += gross - gross * discount;", "    }"),
      ["copies of the lines directly after it were removed"],
    ],
    [
      "the lines around it, less indented",
      text(
        "for (const item of this.items.values()) {",
        "  const gross = item.price.cents;",
        "  sum += gross - gross * discount;",
      ),
      [
        "copies of the lines directly before it were removed",
        "copies of the lines directly after it were removed",
        fromFile,
      ],
    ],
  ])("A suggestion is repaired: %s", async (_, suggestion, repairs) => {
    expect(await check(gross, suggestion)).toEqual(passed(wanted, ...repairs));
  });

  it("A repaired suggestion keeps the relative indentation of its lines", async () => {
    const entry = "entry = Entry(row[0], int(row[1]), row[2:])";
    expect(await check(["report.py", "entry = Entry("], text("if self.limit:", `    ${entry}`))).toEqual(
      passed(text("                if self.limit:", `                    ${entry}`), fromFile),
    );
  });

  it("The first line alone is moved if the others are right", async () => {
    const suggestion = text("if (ring == NULL) {", "        return NULL;", "    }");
    expect(await check(["ring.c", "if (ring == NULL)", "return NULL;"], suggestion)).toEqual(
      passed(`    ${suggestion}`, fromFile),
    );
  });

  it("A suggestion takes the tabs of a makefile", async () => {
    expect(await checkLine("Makefile", "all:\n\tcc -c a.c\n", 2, "    cc -O2 -c a.c")).toMatchObject({
      suggestion: "\tcc -O2 -c a.c",
    });
  });

  it("A suggestion takes the carriage returns of its file, except for a last line without an end", async () => {
    const crlf = (line: string) => `${line}\r`;
    expect(await check(gross, text("      tick();", wanted), crlf)).toEqual(
      passed(`      tick();\r\n${wanted}\r`),
    );
    expect(await check(gross, `      tick();\r\n${wanted}\r\n`, crlf)).toMatchObject({
      suggestion: `      tick();\r\n${wanted}\r`,
    });
    expect(await checkLine("a.ts", "const a = 1;\r\nconst b = 2;", 2, "const b = 3;")).toEqual(
      passed("const b = 3;"),
    );
  });

  it("Signs that are part of the text stay", async () => {
    expect(await checkLine("a.md", "# A\n\n- one\n- two\n", 3, "- one and a half")).toEqual(
      passed("- one and a half"),
    );
    expect(await checkLine("a.yml", "a:\n  - one\n  - two\n", 2, "  - 1| one")).toEqual(passed("  - 1| one"));
  });
});

describe("a suggestion for other lines", () => {
  // The grammar of Ruby takes an `end` too many at the end of a file for a name.
  it("A suggestion is refused if it begins inside of the block whose head it replaces", async () => {
    const lines = sample("queue.rb").split("\n");
    const { start } = linesWith(lines, "def status");
    const suggestion = lines.slice(start).join("\n").replace("@jobs.size", "@jobs.length");
    const checked = await checkSuggestion({
      path: "src/queue.rb",
      lines,
      start,
      end: lines.length,
      suggestion,
    });
    expect(checked).toEqual({ ok: false, reason: "the head of a block would be lost" });
  });

  it("A suggestion is refused if it changes one of two lines and lacks the other one", async () => {
    const checked = await check(
      ["cart.ts", "const MAX_ITEMS", "const separators"],
      "const separators = /[;,|)}]\\s*/g;",
    );
    expect(checked).toEqual({ ok: false, reason: "its first or last line may be missing" });
  });

  it("A suggestion is refused if it began with the line above and lacks the last bracket", async () => {
    const lines = ["fn parse() {", "    if done {", "        return one();", "    }", "    two()", "}"];
    const suggestion = text("    if done {", "        return none();", "    }", "    return one();");
    const checked = await checkSuggestion({ path: "a.rs", lines, start: 3, end: 4, suggestion });
    expect(checked).toEqual({ ok: false, reason: "its first or last line may be missing" });
  });

  it("A suggestion is refused if it begins with two brackets from above, even if the file parses", async () => {
    const element = ['      "id": "import",', '      "enabled": true,', '      "rollout": 0', "    }"];
    const checked = await check(
      ["settings.json", '"id": "import"', "    }"],
      text("    },", "    {", ...element, "  ],", '  "database": {'),
    );
    expect(checked.ok).toBe(false);
  });

  it.each<[string, Anchor, string]>([
    ["is cut off inside of a block", gross, text("      if (item.quantity > 0) {", "        sum += 1;")],
    [
      "lacks the end of the block",
      ["cart.ts", "if (item.quantity <= 0)", "    }"],
      text("    if (item.quantity < 0) {", "      this.items.delete(sku);"),
    ],
    [
      "holds the whole block in the place of its head",
      ["cart.ts", "if (item.quantity <= 0)"],
      text("    if (item.quantity < 0) {", "      this.items.delete(item.sku);", "    }"),
    ],
    [
      "holds the function in the place of a line",
      ["cart.ts", "const item = this.items.get(sku)"],
      text(
        "  remove(sku: string, quantity = 1): boolean {",
        "    const item = this.items.get(sku);",
        "    return item !== undefined;",
        "  }",
      ),
    ],
    [
      "ends the function and begins another one",
      ["Ledger.java", "count++"],
      text("        count++;", "    }", "", "    public void reset() {", "        count = 0;"),
    ],
    [
      "goes on behind the lines",
      ["store.go", "func (s *Store) Put", "s.mu.Lock()"],
      text(
        "func (s *Store) Put(item *Session) {",
        "\ts.mu.Lock()",
        "\tdefer s.mu.Unlock()",
        "\titem.Created = time.Now()",
      ),
    ],
    [
      "leaves out the end",
      ["store.go", "if !ok {", "return session, nil"],
      text("\tif session == nil || !ok {", "\t\treturn nil, ErrExpired", "\t}"),
    ],
    [
      "leaves out the beginning",
      ["report.py", "totals: dict", "return totals"],
      "        return dict(totals)",
    ],
    ["leaves out a function", ["ring.c", "ring->used = 0", "size_t ring_write"], "    ring->used = 1;"],
    [
      "says that it leaves code out",
      ["cart.ts", "let sum = 0", "return sum"],
      text("    let sum = 0;", "    // ... existing code ...", "    return sum;"),
    ],
    [
      "has an ellipsis for code",
      ["report.py", "totals: dict", "return totals"],
      text("        totals = {}", "        ...", "        return totals"),
    ],
    [
      "leaves out a branch and its head",
      ["report.py", "cannot write", "wrote %d lines"],
      text(
        '            log.error("cannot write %s: %s", target, error)',
        "            raise OSError(target)",
      ),
    ],
    [
      "is cut off behind a copy of the line after it",
      ["lines.rs", "pub fn parse_line", "let text = text.trim();"],
      text(
        "pub fn parse_line(text: &str, line: usize) -> Result<Entry<'_>, ParseError> {",
        "    if text.is_empty() {",
      ),
    ],
    [
      "ends a block above and begins its own",
      ["lines.rs", "count += 1;", "}"],
      text("                return 0;", "            }", "            count += 1;", "        }"),
    ],
    [
      "ends a block above by a word",
      ["queue.rb", "job[:name].to_s.downcase", "end"],
      text("      end", "      job[:name].to_s.downcase", "    end"),
    ],
    [
      "may repeat the brackets on both sides",
      ["ring.c", "if (ring) {", "    }"],
      text("{", "    if (ring == NULL)", "        return;", "    free(ring->data);", "    free(ring);", "}"),
    ],
    [
      "may repeat the end of a block in a script",
      ["deploy.yml", "./deploy.sh"],
      text("          fi", `          ./deploy.sh --fast "$${"{{ matrix.zone }}"}"`),
    ],
    ["repeats the line before it", ["cart.ts", "const text ="], "    const started = this.clock.now();"],
    [
      "sets what the next line sets",
      ["ring.c", "ring->head = 0"],
      text("    ring->head = 1;", "    ring->used = 1;"),
    ],
    ["repeats itself without an end", gross, text(wanted, ...Array<string>(9).fill("      sum += gross;"))],
    ["is half a fence", gross, text("```ts", wanted)],
    ["is prose around a fence", gross, text("Use this:", "```ts", wanted, "```")],
    ["is prose", gross, "      Check the quantity first."],
    [
      "holds merge markers",
      ["report.py", "LIMIT = 1000"],
      text("<<<<<<< HEAD", "LIMIT = 1", "=======", "LIMIT = 2", ">>>>>>> topic"),
    ],
  ])("A suggestion is refused when it %s", async (_, anchor, suggestion) => {
    expect(await check(anchor, suggestion)).toEqual({ ok: false, reason: expect.stringMatching(/^\w/) });
  });

  it.each<[string, string]>([
    ["the same", "      const gross = item.price.cents * item.quantity;"],
    ["the same with white space behind it", "      const gross = item.price.cents * item.quantity;  \n"],
    ["the same with other line ends", "      const gross = item.price.cents * item.quantity;\r\n"],
    ["the same without indentation", "const gross = item.price.cents * item.quantity;"],
    [
      "the same with the lines around it",
      text(
        "    for (const item of this.items.values()) {",
        "      const gross = item.price.cents * item.quantity;",
        "      sum += gross - gross * discount;",
      ),
    ],
    ["white space", "   \n"],
  ])("A suggestion is refused when it is %s", async (_, suggestion) => {
    expect(await check(gross, suggestion)).toMatchObject({ ok: false });
  });
});

describe("a suggestion that parses and is wrong", () => {
  it.each<[string, Anchor, string, RegExp]>([
    [
      "a name twice in a block",
      ["cart.ts", "const text ="],
      text("    const text = JSON.stringify([...this.items.values()]);", "    const text = 1;"),
      /declared twice/,
    ],
    [
      "an await outside of an async function",
      ["cart.ts", "this.items.set(item.sku"],
      "    await this.items.set(item.sku, item);",
      /async/,
    ],
    [
      "awaits whose function is async no longer",
      ["cart.ts", "async save"],
      "  save(store: (text: string) => Promise<void>) {",
      /async/,
    ],
    [
      "an import in a function",
      ["cart.ts", "const text ="],
      text('    import x from "x";', "    const text = JSON.stringify([...this.items.values()], x);"),
      /import/,
    ],
    [
      "a statement outside of every function",
      ["store.go", "var ErrExpired"],
      'ErrExpired := errors.New("expired")',
      /outside every function/,
    ],
    [
      "a return outside of every function",
      ["report.py", "LIMIT = 1000"],
      text("LIMIT = 1000", "return LIMIT"),
      /return/,
    ],
    [
      "a print statement",
      ["report.py", "log = logging"],
      text("log = logging.getLogger(__name__)", 'print "x"'),
      /print/,
    ],
    ["a tag that another one closes", ["OrderTable.tsx", "<th>Sum"], "            <th>Sum</td>", /tag/],
    [
      "an expression cut off from its end",
      ["cart.ts", "return line.split"],
      "  return line.split(separators);",
      /./,
    ],
    ["a comment that swallows what follows", gross, `${wanted} /* in`, /./],
    ["a string that swallows what follows", gross, "      const gross = `cents", /./],
    [
      "a text that swallows what follows",
      ["backup.sh", "tar -czf"],
      text('tar -czf "$archive" .', "cat <<END"),
      /has no end/,
    ],
    ["a mark that ends the code", ["queue.rb", "job[:attempts] += 1"], "__END__", /end of the code/],
    ["a line that goes on in the next", ["backup.sh", "tar -czf"], 'tar -czf "$archive" \\', /no parser/],
    [
      "an operator without its right side",
      ["queue.rb", "job[:attempts] += 1"],
      "    job[:attempts] +=",
      /other blocks/,
    ],
    ["a missing semicolon", ["ring.c", "ring->head = 0"], "    ring->head = 1", /parse|missing/],
    [
      "a missing semicolon between its lines",
      ["ring.c", "ring->head = 0"],
      text("    ring->head = first(ring)", "    ring->size = 1;"),
      /parse|missing/,
    ],
    ["an if without its then", ["backup.sh", "if [ -f"], '  if [ -e "$archive" ]', /no parser/],
    [
      "a condition of the preprocessor left open",
      ["ring.c", "ring->head = 0"],
      text("    ring->head = 0;", "#if 0"),
      /parse|missing/,
    ],
    [
      "a block without an end",
      ["queue.rb", "job[:attempts] += 1"],
      text("    if job", "      job[:attempts] += 1"),
      /parse|missing/,
    ],
    [
      "another language's code",
      ["queue.rb", "job[:attempts] += 1"],
      "    List<String> names = new ArrayList<>();",
      /in common/,
    ],
    [
      "another language's code that parses",
      ["queue.rb", "return false"],
      text("      public static int total(List<Item> items) {", "          return items.size();", "      }"),
      /in common/,
    ],
    [
      "another language's code that ends like the line",
      ["cart.ts", "return true;"],
      text("    char *copy = strdup(name);", "    if (copy == NULL)", "        return -1;"),
      /in common/,
    ],
    [
      "code where a list was",
      ["deploy.yml", "- a", "- c"],
      text("          for _, item := range items {", "          \ttotal += item.Price", "          }"),
      /in common/,
    ],
    ["another language's null", ["report.py", "log = logging"], "log = null", /in common/],
    ["hidden characters", gross, "      const gross = item.pri\u200Bce.cents;", /invisible/],
    ["characters that turn the text around", gross, "      const gross = 1; // \u202E 2", /invisible/],
  ])("A suggestion is refused: %s", async (_, anchor, suggestion, reason) => {
    expect(await check(anchor, suggestion)).toEqual({ ok: false, reason: expect.stringMatching(reason) });
  });

  it("A suggestion is refused if the file does not parse and nothing can decide", async () => {
    const broken = text("const a = 1;", "foo(;", "const b = 2;");
    const options = { path: "a.ts", lines: broken.split("\n"), start: 1, end: 2 };
    expect(await checkSuggestion({ ...options, suggestion: "const a = 3;\nfoo(;" })).toMatchObject({
      ok: false,
    });
  });
});

describe("a suggestion in languages with significant indentation", () => {
  it.each<[string, Anchor, string]>([
    [
      "takes a line out of its loop",
      ["report.py", "self.entries.append", "count += 1"],
      text("                self.entries.append(entry)", "            count += 1"),
    ],
    [
      "moves a line into a block above",
      ["report.py", "best = default", "return best"],
      text(
        "        best = default",
        "        for entry in self.entries:",
        "            best = entry",
        "            return best",
      ),
    ],
    [
      "swallows what follows",
      ["report.py", "count += 1"],
      text("                count += 1", "                if count > 5:"),
    ],
    ["leaves a block empty", ["report.py", "best = entry"], ""],
    [
      "is indented like no block",
      ["report.py", "best = entry"],
      text("                best = entry", "              count = 1"),
    ],
    ["leaves a decorator without its function", ["report.py", "@dataclass"], text("@dataclass", "LIMIT = 1")],
    [
      "adds a function behind a statement of another",
      ["report.py", "return best"],
      text("        return best", "", "    def smallest(self):", "        return None"),
    ],
    [
      "may have lost the indentation of its first line or of all",
      ["report.py", '"""Sums', "12 means"],
      text('"""Sums entries by account.', "", "    Amounts are in cents (12 means 0.12)."),
    ],
    [
      "changes the text of a string",
      ["report.py", "Amounts are", '"""'],
      text("    Amounts are in cents, always:", "    12 means 0.12", '    """'),
    ],
    [
      "takes a key out of its mapping",
      ["deploy.yml", "fetch-depth"],
      text("          fetch-depth: 1", "      persist: false"),
    ],
    ["takes the last key out of a mapping", ["deploy.yml", "fetch-depth"], ""],
    [
      "gives the keys that follow to another one",
      ["deploy.yml", "REGION:"],
      text("  REGION: eu", "other:", "  region: eu"),
    ],
    ["takes the value of a key", ["deploy.yml", "branches:"], "    branches:"],
    ["sets a key twice", ["deploy.yml", "REGION:"], "  LOG_LEVEL: debug"],
    ["begins another document", ["deploy.yml", "name: deploy"], text("name: deploy", "---")],
    ["is text where a key was", ["deploy.yml", "environment:"], "    production"],
    ["leaves a template open", ["deploy.yml", "REGION:"], `  REGION: $${"{{ vars.REGION"}`],
    [
      "gives keys to another table",
      ["service.toml", "workers"],
      text("workers = 8", "", "[limits]", "most = 1"),
    ],
    ["sets a key of a table twice", ["service.toml", "workers"], text("workers = 8", "port = 1")],
    ["is no value of TOML", ["service.toml", "workers"], "workers = eight"],
    ["sets a key of JSON twice", ["settings.json", '"port"'], text('    "port": 8081,', '    "host": "x",')],
    ["has a comma too few", ["settings.json", '"port"'], '    "port": 8081'],
    ["has a comma too many", ["settings.json", '"max"'], '      "max": 20,'],
    ["is the first comment of a JSON file", ["settings.json", '"port"'], '    "port": 8081, // why'],
    [
      "ends an object and begins another one",
      ["settings.json", '"port"'],
      text('    "port": 8081', "  },", '  "other": {'),
    ],
  ])("An indented suggestion is refused when it %s", async (_, anchor, suggestion) => {
    expect(await check(anchor, suggestion)).toMatchObject({ ok: false });
  });

  it("A suggestion is refused when it removes an anchor that is used elsewhere", async () => {
    expect(await checkLine("a.yml", "a: &x\n  b: 1\nc: *x\n", 1, "a: # none")).toMatchObject({ ok: false });
  });

  it("A suggestion is refused when it moves keys into another section", async () => {
    expect(await checkLine("a.ini", "[a]\nx = 1\ny = 2\n", 2, "x = 1\n[b]")).toMatchObject({ ok: false });
  });

  it("A suggestion may wrap lines in a block of its own", async () => {
    const wrapped = text("        if self.entries:", "            best = default");
    expect(await check(["report.py", "best = default"], wrapped)).toEqual(passed(wrapped));
  });
});

describe("a suggestion in text and markup", () => {
  it.each<[string, string, string, number, string, boolean]>([
    ["prose with lone quotes and brackets", "a.md", "# A\n\ntext\n", 3, "Don't do (this: it's wrong.", true],
    ["a fence that was not there", "a.md", "# A\n\ntext\n", 3, "```sh\nls\n```", false],
    ["code in a fence", "a.md", "```js\nfoo();\n```\n", 2, "bar();", true],
    [
      "the end of a fence that is open already",
      "a.md",
      "```js\nfoo();\n```\n\ntext\n",
      2,
      "bar();\n```",
      false,
    ],
    ["a tag", "a.html", "<div>\n  <b>a</b>\n</div>\n", 2, "  <b>c</b>", true],
    ["a tag without its end", "a.html", "<div>\n  <b>a</b>\n</div>\n", 2, "  <b>c", false],
    ["an end tag of another name", "pom.xml", "<a>\n  <v>1</v>\n</a>\n", 2, "  <v>2</w>", false],
    ["the last line of a chain", "Dockerfile", "FROM a\nRUN b && \\\n  c\n", 3, "  c --fast", true],
    ["a chain without an end", "Dockerfile", "FROM a\nRUN b && \\\n  c\nUSER d\n", 3, "  c && \\", false],
    ["the head of a chain alone", "Dockerfile", "FROM a\nRUN b && \\\n  c\n", 2, "RUN b", false],
  ])("The check knows %s", async (_, path, file, line, suggestion, ok) => {
    expect(await checkLine(path, file, line, suggestion)).toMatchObject({ ok });
  });
});

describe("a hostile suggestion", () => {
  it("A suggestion is refused for lines that the file does not have", async () => {
    for (const [start, end] of [
      [0, 1],
      [2, 1],
      [1, 3],
    ] as const)
      expect(
        await checkSuggestion({ path: "a.ts", lines: ["a;", "b;"], start, end, suggestion: "c;" }),
      ).toMatchObject({ ok: false });
  });

  it("A suggestion is refused for a file of twenty megabytes", async () => {
    const lines = Array.from({ length: 400_000 }, (_, at) => `const name${at} = "${"x".repeat(30)}";`);
    expect(
      await checkSuggestion({ path: "a.ts", lines, start: 5, end: 5, suggestion: "const name4 = 1;" }),
    ).toEqual({
      ok: false,
      reason: "the file is too large to check it",
    });
  });

  it("A suggestion is refused for a file that is one wide node", async () => {
    const lines = [...Array<string>(2_000).fill('"\\ '.repeat(50)), "foo()", ""];
    expect(
      await checkSuggestion({ path: "a.go", lines, start: 2_001, end: 2_001, suggestion: "bar()" }),
    ).toMatchObject({ ok: false });
  });

  const units = [
    "(",
    "`",
    "```\n",
    "a<b,",
    "{\n",
    "<a>{\n",
    "1| \n",
    '"\\',
    "<<A\n",
    "do\n",
    "{% if ",
    "x = if ",
  ];
  const files: Record<string, string> = {
    "a.json": '{\n  "a": 1\n}',
    "a.yml": "a: 1\nb: 2\nc: 3",
    "a.toml": "a = 1\nb = 2",
  };
  const paths = [
    "a.ts",
    "a.tsx",
    "a.py",
    "a.go",
    "A.java",
    "a.json",
    "a.yml",
    "a.toml",
    "a.rb",
    "a.c",
    "a.rs",
    "a.sh",
  ];
  it.each(paths)(
    "A suggestion in %s is refused when it is thousands of the same characters",
    async (path) => {
      for (const unit of units) {
        const oneLine = unit.repeat(Math.floor(8_000 / unit.length));
        const manyLines = `${unit.repeat(Math.floor(200 / unit.length))}\n`.repeat(10);
        for (const suggestion of [oneLine, manyLines])
          expect(await checkLine(path, files[path] ?? "foo()\n\nbar()", 2, suggestion)).toMatchObject({
            ok: false,
          });
      }
    },
  );
});
