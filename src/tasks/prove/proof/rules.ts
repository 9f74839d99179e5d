/**
 * Refuses tests that could obtain a mark for what is not so: by constants, replaced code, source texts, the environment, time or chance. A
 * test is read here and never run; `may-use.ts` has the names that it may use. Reading cannot refuse code of the repository that reads its
 * own sources for the test, a function's text through a lost alias, a member's name that is built at run time, and overriding subclasses.
 */
import { posix } from "node:path";
import type { ProofTest } from "../../../core/finding.ts";
import { escapeInvisible } from "../../../core/text/escape-invisible.ts";
import { grammarOf, loadAstGrep } from "../../../repo/code/languages.ts";
import { isNestedTooDeep, isTooDeep, isWorthParsing } from "../../../repo/code/parse.ts";
import { isTestFile } from "../../../repo/code/test-file.ts";
import { type Call, Flow, isPrimitive, type Meaning, type Name, Names, namesIn } from "./flow.ts";
import { type Allowed, allowed, type Check, isCheck, reasons, type Use, type Uses } from "./may-use.ts";
import {
  around,
  type Code,
  constantText,
  everything,
  type Of,
  readCode,
  rootOf,
  syntaxes,
} from "./test-code.ts";

/** What the rules must know of the repository at the head. */
export interface TestFacts {
  isFile(path: string): boolean;
  /** Whether an import of the file `from` brings code of the repository. */
  isOwn(from: string, specifier: string): boolean;
  /** Whether one of its manifests names a package. */
  isDependency(name: string): boolean;
}

/**
 * Why a test is refused, as a clause for the model and for people: "line 7 replaces the code under test: `vi.mock`"; null if it may run. The
 * clause contains text of the test, cut.
 */
export async function whyRefused({ path, text }: ProofTest, facts: TestFacts): Promise<string | null> {
  const grammar = grammarOf(path);
  const language = grammar?.language ?? null;
  if (!grammar || !isRuled(language)) return `there are no rules for tests in such a file: ${shown(path)}`;
  const place = whyNotHere(path, allowed[language].path, facts);
  if (place) return place;
  if (!isWorthParsing(text) || isNestedTooDeep(text) || text.includes("\0"))
    return "it is too large, too deep or not written by hand";
  const astGrep = await loadAstGrep();
  const parse = (one: string): Code => {
    const root = astGrep.parse(grammar.dialect, one).root();
    if (isTooDeep(root, one)) throw new Refusal("it is nested too deeply");
    if (root.find({ rule: { any: [{ kind: "ERROR" }, { regex: "^$" }] } }))
      throw new Refusal("it does not parse");
    return readCode(root, syntaxes[language]);
  };
  try {
    new Rules({ path, text, parse }, language, facts).check();
  } catch (error) {
    if (error instanceof Refusal) return error.message;
    throw error;
  }
  return null;
}

interface Program extends ProofTest {
  parse(text: string): Code;
}

type Ruled = keyof typeof allowed;
const isRuled = (language: string | null): language is Ruled => language !== null && language in allowed;

class Refusal extends Error {}

const shown = (text: string): string => {
  const line = escapeInvisible(text.slice(0, 200).replace(/\s+/g, " ").replaceAll("`", "'"));
  return `\`${line.length > 80 ? `${line.slice(0, 80)}…` : line}\``;
};

function refuse(code: Code, reason: string, text = code.text): never {
  throw new Refusal(`line ${code.line} ${reason}: ${shown(text)}`);
}

function whyNotHere(path: string, names: RegExp, { isFile }: TestFacts): string | null {
  const isInside =
    posix.normalize(path) === path && !/^(?:\/|\.\.)|\\|(?:^|\/)(?:\.[^/]*|node_modules)(?:\/|$)/.test(path);
  const name = posix.basename(path);
  if (!isInside || !names.test(name) || !(isTestFile(path) || isTestFile(name)))
    return `its path is not that of a test: ${shown(path)}`;
  return isFile(path) ? `a file is at its path already: ${shown(path)}` : null;
}

/** Longest text that a test may contain, and longest run of characters without a blank: more is data, or hides something. */
const longestText = 3000;
const longWord = /\S{300}/;

/** What an import brings. `module` is its name in the tables. */
interface Origin {
  kind: "own" | "library" | "listed" | "refused";
  module: string;
  use: Use;
}

class Rules {
  readonly #test: Program;
  readonly #language: Ruled;
  readonly #allowed: Allowed;
  readonly #facts: TestFacts;
  readonly #all: readonly Code[];
  readonly #names: Names;
  readonly #flow: Flow;
  readonly #origins = new Map<Code, Origin>();

  constructor(test: Program, language: Ruled, facts: TestFacts) {
    const root = test.parse(test.text);
    this.#test = test;
    this.#language = language;
    this.#allowed = allowed[language];
    this.#facts = facts;
    this.#all = everything(root);
    this.#names = new Names(root, syntaxes[language]);
    const conftest = beginnings(`./${posix.dirname(test.path)}`, "/").some((folder) =>
      facts.isFile(posix.join(folder, "conftest.py")),
    );
    this.#flow = new Flow(this.#names, {
      kindOf: (code) => this.#origin(code).kind,
      isFreeOwn: (name) => language === "go" && !Object.hasOwn(allowed.go.globals, name),
      isFilledOwn: (name) =>
        language === "python" &&
        (/^(?:capsys|capfd|caplog|recwarn|pytester|testdir)$/.test(name) ||
          (conftest && !(name in allowed.python.parameters))),
      isRunner: (name) => this.#isRunner(name),
    });
  }

  check(): void {
    if (this.#allowed.refused?.test(this.#test.text))
      throw new Refusal("it contains an instruction to the compiler");
    this.#checkUses();
    this.#checkAsserts();
  }

  #checkUses(): void {
    for (const code of this.#all) this.#checkOne(code);
  }

  #checkOne(code: Code): void {
    if (this.#leadsOut(code)) refuse(code, reasons.outside);
    if (code.is === "import") this.#checkImport(code);
    else if (code.is === "name") this.#checkName(code);
    else if (code.is === "member") this.#checkMember(code);
    else if (code.is === "index") this.#checkIndex(code);
    else if (code.is === "call") this.#checkCall(code);
    else if (code.is === "operator") this.#checkOperator(code);
    else if (code.is === "text") this.#checkText(code);
    else if (code.is === "pair") this.#checkPair(code);
    else if (code.is === "function") this.#checkFunction(code);
    else if (code.is === "other") this.#checkOther(code);
    else if (code.is === "bind") for (const target of code.targets) this.#checkTarget(code, target);
  }

  // What a test imports.

  #origin(code: Of<"import">): Origin {
    const origin = this.#origins.get(code) ?? this.#findOrigin(code);
    this.#origins.set(code, origin);
    return origin;
  }

  #findOrigin({ specifier, names }: Of<"import">): Origin {
    if (specifier === null) return { kind: "refused", module: "", use: "imports what it does not name" };
    const { modules, separator } = this.#allowed;
    const module = specifier.replace(/^node:/, "");
    if (Object.hasOwn(modules, module)) return { kind: "listed", module, use: modules[module] ?? true };
    const isOwn = (one: string) => this.#facts.isOwn(this.#test.path, one);
    if (isOwn(specifier) || (/^\.+$/.test(specifier) && names.every(({ name }) => isOwn(specifier + name))))
      return { kind: "own", module, use: true };
    const packages = separator === null ? [packageName(module)] : beginnings(module, separator);
    const listed = packages
      .map((one) => (Object.hasOwn(modules, one) ? modules[one] : undefined))
      .find((use) => use !== undefined);
    if (listed !== undefined)
      return { kind: "refused", module, use: typeof listed === "string" ? listed : reasons.unlisted };
    if (!specifier.startsWith("node:") && packages.some((one) => this.#facts.isDependency(one)))
      return { kind: "library", module, use: true };
    return {
      kind: "refused",
      module,
      use: "imports what is neither the repository's code nor a dependency of it",
    };
  }

  #checkImport(code: Of<"import">): void {
    const { use } = this.#origin(code);
    if (typeof use === "string") refuse(code, use, code.specifier ?? code.text);
    for (const { name } of code.names) {
      const inner = isCheck(use) || use === true || isWhole(name) ? true : memberOf(use, name);
      if (typeof inner === "string") refuse(code, inner, name);
      if (this.#isPrivate(code, name)) refuse(code, reasons.private, name);
      this.#checkNamed(code, name);
      this.#checkInner(code, code, name);
    }
    if (code.isCalled && code.names.length === 0 && use !== true)
      refuse(code, "imports a module without a name for it");
    // A test that catches a failing import tells revisions apart by their files.
    const owner = around(code).find((one) => one.is === "function");
    const isCaught = around(code).some(
      (one) => one.is === "try" || (one.is === "call" && !this.#isRunnerCall(one) && one !== owner?.parent),
    );
    const isChained = code.isCalled && code.parent?.is === "member" && !code.text.startsWith("require");
    if ((owner && !this.#isRun(owner)) || isCaught || isChained)
      refuse(code, "imports where the import may fail unseen");
  }

  /** A private function of Python promises nothing to anybody, so a change of it breaks nothing. Modules may have such names. */
  #isPrivate(code: Of<"import">, name: string): boolean {
    return this.#language === "python" && this.#origin(code).kind === "own" && /^_[a-z]\w*$/.test(name);
  }

  // Names, and what tables say of them.

  /** The import whose name, or whose module in a variable, a name is. */
  #importOf(meaning: Meaning): { by: Of<"import">; name: string } | null {
    if (meaning.imported) return meaning.imported;
    const by = meaning.values.map(importIn).find((one) => one !== null);
    return by ? { by, name: "*" } : null;
  }

  #useOf(code: Name): Use {
    const { globals, parameters, tester } = this.#allowed;
    const meaning = this.#names.of(code);
    if (!meaning)
      return this.#language === "go" && ownOf(globals, code.name) === undefined
        ? true
        : memberOf(globals, code.name, reasons.undeclared);
    const imported = this.#importOf(meaning);
    if (imported) return this.#useOfImported(code.name, imported);
    if (this.#isTester(meaning)) return tester;
    return (meaning.parameterOf ? ownOf(parameters, code.name) : undefined) ?? true;
  }

  #useOfImported(local: string, { by, name }: { by: Of<"import">; name: string }): Use {
    const { use } = this.#origin(by);
    // `import a.b` of Python gives the name `a`.
    const [first, second] = (by.specifier ?? "").split(".");
    if (this.#language === "python" && second !== undefined && local === first && isWhole(name)) {
      const outer = ownOf(this.#allowed.modules, local) ?? (use === true ? true : reasons.unlisted);
      return { ...(typeof outer === "object" && !isCheck(outer) ? outer : { "*": outer }), [second]: use };
    }
    return typeof use === "object" && !isCheck(use) && !isWhole(name) ? memberOf(use, name) : use;
  }

  #checkName(code: Name): void {
    if (code.name.includes("\\")) refuse(code, "hides a name");
    if (code.name === "this" && this.#language === "javascript" && !this.#hasOwnThis(code))
      refuse(code, reasons.dynamic);
    this.#checkNamed(code, code.name);
    if (this.#isDeclared(code)) return;
    this.#checkWholeModule(code);
    const { at, use } = this.#follow(code, this.#useOf(code));
    if (typeof use === "string") refuse(at, use);
    if (isCheck(use)) this.#checkUse(at, use);
  }

  /** From a name along the members that it is used with, to what the tables say of the last one. */
  #follow(code: Name, first: Use): { at: Code; use: Use } {
    let use = first;
    let at: Code = code;
    while (typeof use === "object" && !isCheck(use)) {
      const up: Code | null = at.parent;
      const key = up?.is === "index" && up.object === at ? constantText(up.key) : null;
      if (up?.is === "call" && up.callee === at && use["()"] !== undefined) return { at, use: use["()"] };
      if (up?.is === "member" && up.object === at) use = memberOf(use, up.name);
      else if (key !== null) use = use["[]"] ?? memberOf(use, key);
      else if (this.#mayStandAlone(at, use)) return { at, use: true };
      else refuse(at, "passes on what it may only name members of");
      at = up as Code;
    }
    return { at, use };
  }

  /** Types, conversions and callbacks: `String` in `list.map(String)`, `value instanceof Date`, the test itself in `new Fake(t)`. */
  #mayStandAlone(at: Code, use: Uses): boolean {
    const up = at.parent;
    if (use === this.#allowed.tester) return true;
    if (
      up?.is === "other" &&
      (/instanceof/.test(up.kind) || (up.kind === "decorator" && use["()"] !== undefined))
    )
      return true;
    if (
      up?.is === "call" &&
      up.args.includes(at) &&
      /^(?:any|instance|instanceOf|toBeInstanceOf|isinstance|an?)$/i.test(lastName(up.callee))
    )
      return true;
    const isHarmless = Object.values(use).every((one) => typeof one !== "string");
    return use["()"] !== undefined && isHarmless && at.is === "name" && up?.is !== "class";
  }

  /** Whether a use of a name that only some calls may have is such a call. */
  #checkUse(callee: Code, use: Check): void {
    const call = callee.parent;
    if (call?.is !== "call" || call.callee !== callee) {
      if (use.check === "foreign" || (call?.is === "other" && /instanceof/.test(call.kind))) return;
      refuse(callee, "passes on what it may only call");
    }
    const [first, second] = call.args;
    if (use.check === "foreign" && first && this.#isOwnThing(first)) refuse(call, use.reason);
    if (use.check === "zero" ? first?.text !== "0" : use.check === "date" && isNow(call))
      refuse(call, reasons.clock);
    if (use.check === "attribute") this.#checkAttribute(call, first, second);
    if (use.check === "program") for (const arg of call.args) this.#checkProgram(arg);
    if (use.check === "paths") this.#checkPaths(call, call.args.slice(0, use.count));
  }

  /** A program in a text may use what a test may use. */
  #checkProgram(code: Code): void {
    const text = constantText(code.is === "pair" ? code.value : code);
    if (text === null) refuse(code, reasons.dynamic);
    const indent = /^[ \t]*(?=\S)/m.exec(text)?.[0] ?? "";
    const program = { ...this.#test, text: text.replaceAll(new RegExp(`^${indent}`, "gm"), "") };
    try {
      new Rules(program, this.#language, this.#facts).#checkUses();
    } catch (error) {
      if (error instanceof Refusal) refuse(code, `holds a program whose ${error.message}`);
      throw error;
    }
  }

  #checkAttribute(call: Call, object: Code | undefined, named: Code | undefined): void {
    const name = named ? constantText(named) : null;
    if (object && this.#isOwnThing(object)) refuse(call, reasons.asks);
    if (name === null) refuse(call, reasons.hidden);
    this.#checkNamed(call, name);
  }

  #checkPaths(call: Call, paths: readonly Code[]): void {
    const isPlain = lastName(call.callee) === "Path" && this.#isOnlyCompared(call);
    const isFine = (one: Code) => /^["']:memory:["']$/.test(one.text) || this.#isTemporary(one);
    if (!isPlain && (paths.length === 0 || !paths.every(isFine))) refuse(call, reasons.outside);
  }

  /** Whether a path is given to the repository's code, or compared with what it returns, and nothing else. */
  #isOnlyCompared(code: Code): boolean {
    let at: Code = code;
    for (const up of around(code)) {
      if (up.is === "call" && up.args.includes(at)) return this.#flow.isOwnCall(up) || this.#isRunnerCall(up);
      if (up.is === "assert") return true;
      if (up.is !== "other" && up.is !== "pair" && up.is !== "operator") return false;
      at = up;
    }
    return false;
  }

  /** A name of a member, however it is written; or any name, of which Python's hidden ones count. */
  #checkNamed(code: Code, name: string): void {
    const use = ownOf(this.#allowed.members, name);
    if (typeof use === "string" && code.is !== "name") refuse(code, use);
    const isListed = use === true || (code.is === "name" && ownOf(this.#allowed.globals, name) !== undefined);
    if (this.#language === "python" && /^__.*__$/.test(name) && !isListed) refuse(code, reasons.source);
  }

  #checkMember(code: Of<"member">): void {
    this.#checkNamed(code, code.name);
    this.#checkOwnText(code, code.name, code.object);
    const imported = code.object.is === "name" ? this.#names.of(code.object)?.imported : null;
    if (imported) this.#checkInner(code, imported.by, code.name);
    if (this.#allowed.climbs?.test(code.name) && this.#isTemporary(code.object))
      refuse(code, reasons.outside);
  }

  /** A module in a module, such as `calc.time`, or a part that a module hides. */
  #checkInner(code: Code, by: Of<"import">, name: string): void {
    const isOwn = this.#origin(by).kind === "own";
    const inner = ownOf(this.#allowed.modules, name);
    if (this.#language !== "python") return;
    if (isOwn && typeof inner === "string") refuse(code, inner);
    if (!isOwn && name.startsWith("_") && !name.startsWith("__")) refuse(code, reasons.unlisted);
  }

  #checkOwnText(code: Code, name: string, object: Code): void {
    if (/^to(?:Locale)?String$/.test(name) && this.#isOwnThing(object)) refuse(code, reasons.ownSource);
  }

  #checkIndex(code: Of<"index">): void {
    const values = this.#names.meaning(code.key)?.values ?? [];
    const key = constantText(code.key) ?? (values.length === 1 && values[0] ? constantText(values[0]) : null);
    if (key !== null) {
      this.#checkNamed(code, key);
      this.#checkOwnText(code, key, code.object);
      return;
    }
    const isBuilt =
      code.key.is === "text" || (isBinary(code.key) && everything(code.key).some(({ is }) => is === "text"));
    const isCalled = code.parent?.is === "call" && code.parent.callee === code;
    if (this.#isModule(code.object) || (isBuilt && isCalled)) refuse(code, reasons.hidden);
  }

  #checkPair(code: Of<"pair">): void {
    const call = code.parent?.parent;
    if (code.name === null) {
      const isPattern = around(code).some(
        (one) => one.is === "bind" && one.targets.some((target) => everything(target).includes(code)),
      );
      if (isPattern) refuse(code, reasons.hidden);
      return;
    }
    if (reasons.skipping.test(code.name) && call?.is === "call" && this.#isRunnerCall(call))
      refuse(code, reasons.skips);
    if (code.value.is !== "function") this.#checkNamed(code, code.name);
    const by = code.parent?.parent;
    if (by?.is === "bind" && by.value) this.#checkOwnText(code, code.name, by.value);
  }

  #checkText(code: Of<"text">): void {
    if (code.text.length > longestText || longWord.test(code.text)) refuse(code, "contains a long text");
    if (this.#language !== "python") return;
    // `operator.attrgetter`, `str.format` and others take names of members as texts.
    for (const [name] of code.text.matchAll(/\b__\w+?__\b/g))
      if (name !== "__main__") this.#checkNamed(code, name);
    if (/^[a-z]*["']+file:/i.test(code.text)) refuse(code, reasons.outside);
  }

  #checkFunction(code: Of<"function">): void {
    const name = code.name ?? (code.parent?.is === "pair" ? code.parent.name : null) ?? "";
    if (this.#allowed.hooks.test(name)) refuse(code, "changes how tests run", name);
    if (this.#language !== "go" || code.parent?.is !== "pair") return;
    const type = /^func\s*\(\s*\w*\s*\*?\s*(\w+)/.exec(code.text)?.[1];
    const isOwn = type !== undefined && !this.#names.lookup(type, code);
    if (isOwn) refuse(code, "adds to the code under test", name);
  }

  // What a test must not do with the code under test: replace it, ask for its parts, or read its text.

  #checkTarget(by: Of<"bind">, target: Code): void {
    if (by.value && target.text.includes("...") && this.#isModule(by.value)) refuse(by, reasons.asks);
    if (target.is === "name") this.#checkRebound(by, target);
    else if (target.is === "member" || target.is === "index") this.#checkChange(by, target, by.value);
    else
      for (const child of target.is === "bind" ? target.targets : target.children)
        this.#checkTarget(by, child);
  }

  #checkRebound(by: Of<"bind">, target: Name): void {
    if (by.how === "declare" || by.how === "parameter") return;
    const meaning = this.#names.of(target);
    if (!meaning && target.name !== "_") refuse(by, "replaces what it does not declare");
    if (
      (meaning?.imported && by.how !== "iterate") ||
      (by.value?.is === "function" && this.#isOwnThing(target))
    )
      refuse(by, reasons.replaces);
  }

  #checkChange(by: Code, target: Of<"member"> | Of<"index">, value: Code | null): void {
    const root = rootOf(target);
    if (!root) {
      if (everything(target).some(({ is }) => is === "import")) refuse(by, reasons.replaces);
      return;
    }
    const meaning = this.#names.of(root);
    const isForeign = !meaning || this.#importOf(meaning) !== null || this.#isOwnThing(root);
    if (/^(?:this|self|cls|document|_)$/.test(root.name) || (isForeign && isVariable.test(target.text)))
      return;
    if (isForeign) refuse(by, reasons.replaces);
    const isHandler = target.is === "member" && /^on[a-z_]/.test(target.name);
    if (value && !isHandler && this.#isFunction(value) && this.#comesFromOwn(root))
      refuse(by, reasons.replaces);
  }

  #isFunction = (value: Code): boolean =>
    this.#names.functions(value).length > 0 ||
    (value.is === "call" && /^(?:fn|fake|stub|\w*Mock)$/.test(lastName(value.callee)));

  /** Whether a name is an object that the repository's code made: its value begins with a call of that code. */
  #comesFromOwn = (root: Name): boolean =>
    (this.#names.of(root)?.values ?? []).some((value) => {
      const begin = rootOf(unwrapped(value));
      return begin !== null && begin !== root && this.#flow.isOwn(begin) && this.#isOwnThing(begin);
    });

  /** A module is used by its members, called, or given to what is not of the language or the runner: `request(app)`. */
  #checkWholeModule(code: Name): void {
    if (!this.#isModule(code)) return;
    if (code.parent?.is === "other" && /^(?:array|class_heritage|extends_clause)$/.test(code.parent.kind))
      return;
    const up = code.parent;
    if (
      up?.is === "member" ||
      up?.is === "index" ||
      up?.is === "block" ||
      (up?.is === "call" && up.callee === code)
    )
      return;
    if (up?.is === "call" && up.args.includes(code)) {
      const root = rootOf(up.callee);
      const isListed =
        root === null ||
        this.#names.of(root) === null ||
        this.#isRunner(root) ||
        lastName(up.callee) === "inspect";
      if (!isListed) return;
    } else if (
      up?.is === "pair" ||
      (up?.is === "bind" && up.how !== "iterate" && up.parent?.is !== "operator")
    )
      return;
    refuse(up ?? code, reasons.asks);
  }

  #checkOperator(code: Of<"operator">): void {
    const { operator, children } = code;
    const inner = children.at(-1);
    if (operator === "typeof" && inner?.is === "member" && this.#isModule(inner.object))
      refuse(code, reasons.asks);
    if (operator !== "delete") return;
    for (const one of inner?.is === "other" ? inner.children : children)
      if (one.is === "member" || one.is === "index") this.#checkChange(one, one, null);
      else if (one.is === "name" && this.#names.of(one)?.imported) refuse(one, reasons.replaces);
  }

  #checkCall(code: Call): void {
    const name = lastName(code.callee);
    if (this.#allowed.patches?.test(name) && code.callee.is === "member" && !this.#flow.isOwn(code.callee))
      refuse(code, reasons.replaces);
    if (
      this.#allowed.texts?.test(name) &&
      !this.#isRunnerCall(code) &&
      [...code.args, ...everything(code.callee).filter(({ is }) => is === "other")].some((one) =>
        this.#isOwnFunction(one),
      )
    )
      refuse(code, reasons.ownSource);
  }

  #checkOther(code: Of<"other">): void {
    const [first] = code.children;
    const what = this.#allowed.kinds[code.kind];
    if (what === "join" && code.children.some((one) => this.#isOwnFunction(one)))
      refuse(code, reasons.ownSource);
    if (what === "export" && code.children.some(({ is }) => is === "text"))
      refuse(code, "exports what it does not show");
    if (what === "dynamic") refuse(code, reasons.dynamic);
    if (what === "address" && code.text.startsWith("&") && first?.is === "name" && !this.#names.of(first))
      refuse(code, reasons.replaces);
  }

  // What a test asserts.

  #checkAsserts(): void {
    const assertions = this.#all.filter((code) => this.#isAssertion(code));
    if (assertions.length === 0) throw new Refusal("it asserts nothing");
    const telling = assertions.filter((code) => this.#tells(code));
    if (telling.length === 0)
      throw new Refusal("it asserts nothing that the code of the repository produced");
    if (!telling.some((code) => this.#isLive(code)))
      throw new Refusal("its assertions do not run, or their failures are hidden");
  }

  #isAssertion(code: Code): boolean {
    if (code.is === "assert" || (code.is === "end" && code.how === "throw")) return true;
    if (code.is === "member" && code.name === "should") return true;
    // `expect(x).to.be.true` of chai is no call.
    const isLast =
      code.is === "call" || (code.is === "member" && code.object.is !== "name" && !isCallee(code));
    return isLast && this.#allowed.asserts.test(this.#chain(code));
  }

  #isFailing = (code: Code): boolean =>
    code.is === "end" ||
    (code.is === "call" &&
      /^(?:fail|Fail|FailNow|unreachable|Errorf?|Fatalf?|panic)$/.test(lastName(code.callee)));

  /** Whether an assertion depends on what the repository's code did. */
  #tells(code: Code): boolean {
    if (this.#isFailing(code) && this.#flow.dependsOnOwn(code)) return true;
    if (code.is === "end") return false;
    const operands = code.is === "assert" ? code.children.slice(0, 1) : this.#operands(code);
    const [first] = operands;
    const compared = code.is === "assert" && first ? first.children : operands;
    const isRun = ({ is }: Code) => is === "function" || is === "block";
    return (
      operands.some((one) => this.#flow.isOwn(one) || (isRun(one) && this.#flow.runsOwn(one))) &&
      !isSame(compared)
    );
  }

  /** All that a call, or a chain of calls, gets; and the object of the test that it begins with. */
  #operands(code: Code): readonly Code[] {
    const operands: Code[] = [];
    let at = code;
    for (; at.is === "call" || at.is === "member"; at = at.is === "call" ? at.callee : at.object)
      if (at.is === "call") operands.push(...at.args);
    if (at.is === "name" && this.#source(at) === null) operands.push(at);
    if (!/raises|warns/i.test(this.#chain(code))) return operands;
    // `with pytest.raises(ValueError):` asserts what its block does.
    const statement = around(code)
      .slice(0, 5)
      .find((one) => one.is === "other" && one.kind === "with_statement");
    return [...operands, ...(statement?.children ?? []).filter((one) => one.is === "block")];
  }

  /** Whether an assertion runs, and its failure fails the test, as far as the text shows. */
  #isLive(code: Code): boolean {
    let at: Code = code;
    for (const up of around(code)) {
      const isAfterEnd =
        up.is === "block" && up.children.slice(0, up.children.indexOf(at)).some(({ is }) => is === "end");
      const isNever =
        up.is === "branch" &&
        up.how !== "loop" &&
        up.conditions.length > 0 &&
        up.conditions.every((one) => one !== at && isPrimitive(one));
      const isHidden =
        up.is === "try" &&
        up.body === at &&
        up.handlers.length > 0 &&
        !this.#isFailing(code) &&
        !up.handlers.some((one) => this.#rethrows(one));
      if (isAfterEnd || isNever || isHidden || (up.is === "function" && !this.#isReached(up))) return false;
      at = up;
    }
    return true;
  }

  #rethrows = (handler: Code): boolean => everything(handler).some((one) => this.#isAssertion(one));

  /** Whether a runner runs a function. */
  #isRun(code: Of<"function">): boolean {
    const call = code.parent;
    if (call?.is === "call" && call.args.includes(code)) return this.#isRunnerCall(call);
    return code.decorators.length > 0 || (code.name !== null && this.#allowed.tests.test(code.name));
  }

  #isReached(code: Of<"function">): boolean {
    const holder = code.name ? code.parent : code.parent?.parent;
    if (this.#isRun(code) || holder?.is === "class" || holder?.parent?.is === "class") return true;
    const names = code.name
      ? [this.#names.lookup(code.name, code)]
      : code.parent?.is === "bind"
        ? code.parent.targets.flatMap(namesIn).map((one) => this.#names.of(one))
        : [];
    return names.length === 0 || names.some((one) => one !== null && this.#flow.isUsed(one));
  }

  // What is what.

  /** A module of the repository as a whole. */
  #isModule(code: Code, seen = new Set<Code>()): boolean {
    const meaning = code.is === "name" && !seen.has(code) ? this.#names.of(code) : null;
    if (!meaning) return importIn(code) !== null && this.#originKind(code) === "own";
    seen.add(code);
    const imported = this.#importOf(meaning);
    if (!imported) return meaning.values.some((value) => value.is === "name" && this.#isModule(value, seen));
    const { by, name } = imported;
    if (this.#origin(by).kind !== "own") return false;
    if (name === "*") return meaning.imported !== null || !/^\{/.test(meaning.places[0]?.text ?? "");
    const from = by.specifier ?? "";
    return (
      this.#language === "python" &&
      this.#facts.isOwn(this.#test.path, `${from}${from.endsWith(".") ? "" : "."}${name}`)
    );
  }

  #originKind(code: Code): Origin["kind"] | null {
    const found = importIn(code);
    return found && this.#origin(found).kind;
  }

  /** What the repository's files export, or a part of it; no value that its calls returned. */
  #isOwnThing(code: Code, seen = new Set<Code>()): boolean {
    if (code.is === "member") return this.#isOwnThing(code.object, seen);
    if (code.is !== "name") return this.#originKind(code) === "own";
    const meaning = this.#names.of(code);
    if (!meaning || seen.has(code)) return false;
    seen.add(code);
    const imported = this.#importOf(meaning);
    if (imported) return this.#origin(imported.by).kind === "own" && !isConstantName(code.name);
    return !meaning.parameterOf && meaning.values.some((value) => this.#isOwnThing(value, seen));
  }

  #isOwnFunction = (code: Code): boolean =>
    code.is === "name" || code.is === "member"
      ? !isConstantName(code.name) && this.#isOwnThing(code)
      : code.is === "other" && code.kind === "array" && code.children.some((one) => this.#isOwnFunction(one));

  #isDeclared(code: Name): boolean {
    for (let at: Code = code, up = code.parent; up; [at, up] = [up, up.parent]) {
      if (up.is === "bind") {
        const meaning = this.#names.of(code);
        return (
          up.targets.includes(at) &&
          up.how !== "update" &&
          (at !== code || meaning !== null) &&
          !meaning?.imported
        );
      }
      if (up.is === "pair" ? up.value !== at : up.is !== "other") return false;
    }
    return false;
  }

  /** Where a name comes from, such as `vitest.expect`, or `tester` for a runner's parameter; null for a name of the test. */
  #source(root: Name): string | null {
    const meaning = this.#names.of(root);
    if (!meaning) return root.name;
    const imported = this.#importOf(meaning);
    if (!imported) return this.#isTester(meaning) ? "tester" : null;
    const { module } = this.#origin(imported.by);
    return isWhole(imported.name) ? module : `${module}.${imported.name}`;
  }

  /** The source of the name that an expression begins with, and its members: `vitest.expect.not.toBe` for `expect(1).not.toBe(2)`. */
  #chain(code: Code): string {
    const names: string[] = [];
    for (let at = code; ; ) {
      if (at.is === "name") return [this.#source(at) ?? "", ...names].join(".");
      if (at.is === "member") {
        names.unshift(at.name);
        at = at.object;
      } else if (at.is === "call") at = at.callee;
      else return "";
    }
  }

  #isRunner = (root: Name): boolean => this.#allowed.runners.test(this.#source(root) ?? "");

  #isRunnerCall({ callee }: Call): boolean {
    const root = rootOf(callee);
    return root !== null && this.#isRunner(root);
  }

  /** The parameter with which a runner gives a test control of itself. */
  #isTester(meaning: Meaning): boolean {
    const owner = meaning.parameterOf;
    if (!owner) return false;
    if (this.#language === "go")
      return meaning.values.some((value) => value.is === "name" && value.name === "testing.T");
    const [first] = owner.params;
    if (first?.is !== "bind" || !first.targets.flatMap(namesIn).some(({ name }) => name === meaning.name))
      return false;
    if (this.#language === "python") return /^(?:self|cls)$/.test(meaning.name);
    const call = owner.parent;
    if (call?.is !== "call" || !call.args.includes(owner)) return false;
    // The callback of `it.each(table)(name, callback)` has its values from the table.
    if (call.callee.is === "call" && !/^(?:expect|assert)$/.test(meaning.name)) return false;
    const root = rootOf(call.callee);
    return (
      root !== null &&
      this.#names.of(root) !== meaning &&
      this.#allowed.testing.test(this.#source(root) ?? "")
    );
  }

  /** Whether `this` is what a class, an object or a runner says; elsewhere it may be all globals. */
  #hasOwnThis(code: Code): boolean {
    for (const one of around(code)) {
      if (one.is === "class" || (one.is === "function" && one.parent?.is === "pair")) return true;
      if (one.is === "function" && /^(?:async\s+)?function\b/.test(one.text))
        return one.parent?.is === "call" && this.#isRunnerCall(one.parent);
    }
    return false;
  }

  /** Whether an expression is a path below a temporary folder. */
  #isTemporary(code: Code | undefined, seen = new Set<Code>()): boolean {
    if (!code || seen.has(code)) return code !== undefined;
    seen.add(code);
    const [first] = code.children;
    switch (code.is) {
      case "name":
      case "member":
        return this.#isTemporaryName(code, seen);
      case "call":
        return this.#isTemporaryCall(code, seen);
      case "bind":
        return code.value !== null && this.#isTemporary(code.value, seen);
      case "text":
        return /^f?["'`]+\$?\{/i.test(code.text) && this.#isTemporary(first, seen);
      case "other":
        return (
          /^(?:binary|await|expression_list|template_substitution|interpolation)/.test(code.kind) &&
          this.#isTemporary(first, seen)
        );
      default:
        return false;
    }
  }

  #isTemporaryName(code: Name | Of<"member">, seen: Set<Code>): boolean {
    const meaning = this.#names.meaning(code);
    if (!meaning || meaning.imported)
      return (
        code.is === "member" &&
        /^(?:name|path|stdin)$/.test(code.name) &&
        this.#isTemporary(code.object, seen)
      );
    const isFixture =
      this.#language === "python" &&
      meaning.parameterOf !== null &&
      /^(?:tmp_path|tmpdir)$/.test(meaning.name);
    return (
      isFixture || (meaning.values.length > 0 && meaning.values.every((one) => this.#isTemporary(one, seen)))
    );
  }

  #isTemporaryCall({ callee, args }: Call, seen: Set<Code>): boolean {
    const name = lastName(callee);
    const { makes, joins, extend } = this.#allowed.folders;
    const root = rootOf(callee);
    if (root && this.#comesFromOwn(root)) return false;
    // The arguments leave the new folder in the folder for such.
    if (makes.test(name))
      return args.every((one) => isNamePart.test(one.text) || this.#isTemporary(one, seen));
    if (joins.test(name)) return this.#isTemporary(args[0], seen);
    return extend.test(name) && callee.is === "member" && this.#isTemporary(callee.object, seen);
  }

  /** Whether a part of a path below a temporary folder leads out of it. */
  #leadsOut(code: Code): boolean {
    const isJoin =
      code.is === "call" && code.callee.is === "member" && this.#allowed.folders.parts.test(code.callee.name);
    if (!isJoin && !isBinary(code) && !(code.is === "text" && code.value === null)) return false;
    const parts = code.is === "call" ? code.args : code.is === "text" ? [code] : code.children;
    const isRooted = isJoin || (code.is === "other" && code.kind === "binary /");
    return parts.some((one) => this.#hasText(one, isRooted ? wayOut : wayUp)) && this.#isTemporary(code);
  }

  #hasText = (code: Code, wanted: RegExp, seen = new Set<Meaning>()): boolean =>
    everything(code).some((one) => {
      if (one.is === "text") return wanted.test(one.text.replace(/^[a-z]*["'`]+|["'`]+$/gi, ""));
      const meaning = one.is === "name" ? this.#names.of(one) : null;
      if (!meaning || seen.has(meaning)) return false;
      seen.add(meaning);
      return meaning.values.some((value) => isPath(value) && this.#hasText(value, wanted, seen));
    });
}

const memberOf = (uses: Uses, name: string, otherwise = reasons.unlisted): Use =>
  ownOf(uses, name) ?? uses["*"] ?? otherwise;
const ownOf = (uses: Uses, name: string): Use | undefined =>
  Object.hasOwn(uses, name) ? uses[name] : undefined;

const isWhole = (name: string): boolean => name === "*" || name === "default";
const isBinary = (code: Code): boolean => code.is === "other" && code.kind.startsWith("binary");
const isPath = (code: Code): boolean => code.is === "text" || code.is === "other";
const wayUp = /(?:^|[/\\])\.\.(?:$|[/\\])/;
const wayOut = /(?:^|[/\\])\.\.(?:$|[/\\])|^[/\\]/;
const isVariable = /^(?:process\.env|os\.environ|environ)\s*[.[]/;
const isNamePart = /^["'`][\w.-]*["'`]$|^(?:prefix|suffix)=["'][\w.-]*["']$|^(?:mode|encoding|delete)=/;
const lastName = (callee: Code): string =>
  callee.is === "name" || callee.is === "member" ? callee.name : "";
const isCallee = (code: Code): boolean => {
  const up = code.parent;
  return (up?.is === "call" && up.callee === code) || (up?.is === "member" && up.object === code);
};
const isConstantName = (name: string): boolean => /^[A-Z][A-Z0-9_]*$/.test(name);

const isNow = ({ args: [first], isNew }: Call): boolean => !first || !isNew || first.text.startsWith("...");

/** `x` and `x`: they cannot differ. */
const isSame = ([left, right, ...rest]: readonly Code[]): boolean =>
  rest.length === 0 &&
  left !== undefined &&
  left.text === right?.text &&
  !everything(left).some(({ is }) => is === "call");

const unwrapped = (code: Code): Code =>
  code.is === "other" && code.children.length === 1 && code.children[0] ? unwrapped(code.children[0]) : code;

/** The `require` or `import()` that a value is. */
function importIn(code: Code): Of<"import"> | null {
  const inner = unwrapped(code);
  return inner.is === "import" ? inner : null;
}

const beginnings = (path: string, separator: string): string[] =>
  path.split(separator).map((_, at, all) => all.slice(0, all.length - at).join(separator));

const packageName = (specifier: string): string => /^(?:@[^/]+\/)?[^/]+/.exec(specifier)?.[0] ?? specifier;
