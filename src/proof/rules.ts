import { posix } from "node:path";
import { grammarOf, loadAstGrep } from "../code/languages.ts";
import { isNestedTooDeep, isTooDeep, isWorthParsing } from "../code/parse.ts";
import { isTestFile } from "../code/test-file.ts";
import type { ProofTest } from "../finding.ts";
import { escapeInvisible } from "../text/escape-invisible.ts";
import { type Call, Flow, isPrimitive, type Meaning, type Name, Names, namesIn } from "./flow.ts";
import { type Allowed, allowed, type Check, isCheck, type Use, type Uses } from "./may-use.ts";
import { around, type Code, constantText, everything, readCode, rootOf, syntaxes } from "./test-code.ts";

/** What the rules must know of the repository at the head. */
export interface TestFacts {
  /** Whether a key of its tree is a file. */
  isFile(path: string): boolean;
  /** Whether a name is one of its packages: the name in a `package.json`, a package or module of Python, a module of Go. */
  isOwnPackage(name: string): boolean;
  /** Whether one of its manifests names a package. */
  isDependency(name: string): boolean;
}

/**
 * Why a test is refused, as a clause for the model and for people: "line 7 replaces the code under test: `vi.mock`"; null if it may run. The
 * text is read and never run. The clause contains text of the test, cut.
 */
export async function whyRefused({ path, text }: ProofTest, facts: TestFacts): Promise<string | null> {
  const grammar = grammarOf(path);
  const language = grammar?.language ?? null;
  if (!grammar || !isRuled(language)) return `there are no rules for tests in such a file: ${shown(path)}`;
  const place = whyNotHere(path, language, facts);
  if (place) return place;
  if (!isWorthParsing(text) || isNestedTooDeep(text) || text.includes("\0"))
    return "it is too large, too deep or not written by hand";
  const astGrep = await loadAstGrep();
  const root = (await astGrep.parseAsync(grammar.dialect, text)).root();
  if (isTooDeep(root, text)) return "it is nested too deeply";
  if (root.find({ rule: { any: [{ kind: "ERROR" }, { regex: "^$" }] } })) return "it does not parse";
  const code = readCode(root, syntaxes[language]);
  try {
    new Rules({ path, text }, language, code, facts).check();
  } catch (error) {
    if (error instanceof Refusal) return error.message;
    throw error;
  }
  return null;
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

const testNames: Record<Ruled, RegExp> = {
  // Such a name hides no module of the language from the code under test, and no runner reads it as its settings.
  python: /^(?:test_\w+|\w+_test)\.py$/,
  go: /^\w+_test\.go$/,
  javascript: /^(?!.*\b(?:config|setup|workspace|d)\.)[\w.-]+\.[cm]?[jt]sx?$/,
};

function whyNotHere(path: string, language: Ruled, { isFile }: TestFacts): string | null {
  const isInside =
    posix.normalize(path) === path && !/^(?:\/|\.\.)|\\|(?:^|\/)(?:\.[^/]*|node_modules)(?:\/|$)/.test(path);
  const name = posix.basename(path);
  if (!isInside || !testNames[language].test(name) || !(isTestFile(path) || isTestFile(name)))
    return `its path is not that of a test: ${shown(path)}`;
  return isFile(path) ? `a file is at its path already: ${shown(path)}` : null;
}

/** Longest text that a test may contain, and longest run of characters without a blank: more is data, or hides something. */
const longestText = 3000;
const longestWord = 300;

/** Modules whose calls check something. */
const asserting =
  /^(?:(?:node:)?assert(?:\/strict)?|chai|uvu\/assert|github\.com\/stretchr\/testify\/(?:assert|require)|tap|tape|ava)$/;
const running = /^(?:(?:node:)?test|vitest|@jest\/globals|mocha|uvu|ava|tap|tape|pytest|unittest|testing)$/;

class Rules {
  readonly #test: ProofTest;
  readonly #language: Ruled;
  readonly #allowed: Allowed;
  readonly #facts: TestFacts;
  readonly #root: Code;
  readonly #all: readonly Code[];
  readonly #names: Names;
  readonly #flow: Flow;
  readonly #origins = new Map<Code, Origin>();
  #usesFiles = false;

  constructor(test: ProofTest, language: Ruled, root: Code, facts: TestFacts) {
    this.#test = test;
    this.#language = language;
    this.#allowed = allowed[language];
    this.#facts = facts;
    this.#root = root;
    this.#all = [...everything(root)];
    this.#names = new Names(root, syntaxes[language]);
    for (const code of this.#all) if (code.is === "import") this.#origins.set(code, this.#originOf(code));
    this.#flow = new Flow(this.#names, {
      isOwn: (code) => this.#origins.get(code)?.isOwn ?? false,
      isFreeOwn: (name) => language === "go" && !Object.hasOwn(allowed.go.globals, name),
      isOwnParameter: (meaning, flow) => this.#isOwnFixture(meaning, flow),
      isLibrary: (code) => this.#origins.get(code)?.isLibrary ?? false,
      isRunner: (name) => this.#isRunner(name),
    });
  }

  /** @throws Refusal */
  check(): void {
    if (/^\s*\/\/(?:go:|\s*\+build)|^\s*\/\*\s*#/m.test(this.#test.text) && this.#language === "go")
      throw new Refusal("it contains an instruction to the compiler");
    for (const code of this.#all) this.#checkOne(code);
    if (this.#usesFiles) for (const code of this.#all) this.#checkNoClimb(code);
    this.#checkAsserts();
  }

  #checkOne(code: Code): void {
    switch (code.is) {
      case "import":
        this.#checkImport(code);
        return;
      case "name":
        this.#checkName(code);
        return;
      case "member":
        this.#checkMember(code, code.name);
        return;
      case "index":
        this.#checkIndex(code);
        return;
      case "call":
        this.#checkCall(code);
        return;
      case "bind":
        if (code.value && this.#isModule(code.value) && code.targets.some(({ text }) => text.includes("...")))
          refuse(code, "asks which names a module has");
        for (const target of code.targets) this.#checkTarget(code, target);
        return;
      case "operator":
        this.#checkOperator(code);
        return;
      case "text":
        this.#checkText(code);
        return;
      case "pair":
        if (code.name !== null && /^(?:skip|only|todo|retry|retries|repeats|fails|flaky)$/.test(code.name))
          this.#checkOption(code);
        if (code.name !== null) this.#checkMember(code, code.name);
        else if (
          around(code).some(
            (one) => one.is === "bind" && one.targets.some((target) => everything(target).includes(code)),
          )
        )
          refuse(code, "names a member that it does not show");
        return;
      case "function":
        this.#checkFunction(code);
        return;
      case "end":
        this.#checkEnd(code);
        return;
      default:
        if (code.is === "other") this.#checkJoined(code);
    }
  }

  // What a test imports.

  #originOf({ specifier, names }: Code & { is: "import" }): Origin {
    if (specifier === null) return { isOwn: false, use: "imports what it does not name" };
    const { modules } = this.#allowed;
    const bare = this.#language === "javascript" ? specifier.replace(/^node:/, "") : specifier;
    if (Object.hasOwn(modules, bare)) return { isOwn: false, use: modules[bare] as Use };
    const isOwn = { javascript: isOwnScript, python: isOwnPython, go: isOwnGo }[this.#language];
    if (
      isOwn(
        this.#test.path,
        specifier,
        this.#facts,
        names.map(({ name }) => name),
      )
    )
      return { isOwn: true, use: true };
    const parents =
      this.#language === "go"
        ? beginnings(specifier, "/")
        : this.#language === "python"
          ? beginnings(specifier, ".")
          : [packageName(specifier)];
    const known = parents.find((one) => Object.hasOwn(modules, one));
    const knownUse = known === undefined ? undefined : modules[known];
    if (typeof knownUse === "string") return { isOwn: false, use: knownUse };
    const isDependency =
      parents.some((one) => this.#facts.isDependency(one)) && !specifier.startsWith("node:");
    const isLibrary = isDependency && knownUse === undefined;
    return { isOwn: false, isLibrary, use: isLibrary ? true : "imports what it may not" };
  }

  #checkImport(code: Code & { is: "import" }): void {
    const use = this.#origins.get(code)?.use ?? true;
    if (typeof use === "string") refuse(code, use, code.specifier ?? code.text);
    if (!isCheck(use) && use !== true)
      for (const { name } of code.names) {
        const inner = name === "*" || name === "default" ? use : memberOf(use, name);
        if (typeof inner === "string") refuse(code, inner, name);
      }
    for (const { name } of code.names) {
      const inner = Object.hasOwn(this.#allowed.members, name) ? this.#allowed.members[name] : undefined;
      if (typeof inner === "string") refuse(code, inner, name);
      if (this.#language === "python") this.#checkHidden(code, name);
      this.#checkInnerModule(code, code.specifier ?? "", name);
    }
    if (code.isCalled && code.names.length === 0 && use !== true) refuse(code, "uses what a test may not");
    // A test that catches a failing import tells revisions apart by their files.
    const owner = [...around(code)].find((one) => one.is === "function");
    const call = owner?.parent;
    const isTest =
      owner === undefined ||
      /^(?:test|setUp|asyncSetUp)/.test(owner.is === "function" ? (owner.name ?? "") : "") ||
      (call?.is === "call" && this.#isRunnerCall(call));
    const isCaught = [...around(code)].some(
      (one) => one.is === "try" || (one.is === "call" && !this.#isRunnerCall(one) && one !== call),
    );
    const isDirect = !code.isCalled || code.parent?.is !== "member" || code.text.startsWith("require");
    if (!isTest || isCaught || !isDirect) refuse(code, "imports where the import may fail unseen");
  }

  // Names, and what tables say of them.

  #useOf(code: Name): Use {
    const meaning = this.#names.of(code);
    if (!meaning) {
      if (this.#language === "go" && !Object.hasOwn(this.#allowed.globals, code.name)) return true;
      return memberOf(this.#allowed.globals, code.name, "uses what a test may not");
    }
    if (meaning.imported) {
      const { by, name } = meaning.imported;
      const use = this.#origins.get(by)?.use ?? true;
      const isWhole = name === "*" || name === "default";
      if (isWhole) {
        // `import a.b` of Python gives the name `a`.
        const rest = this.#language === "python" ? (by.specifier ?? "").split(".").slice(1) : [];
        const isAliased = !by.text.includes(" as ");
        if (rest.length > 0 && isAliased)
          return this.#allowed.modules[code.name] ?? (use === true ? true : { [rest[0] ?? ""]: use });
        return use;
      }
      return typeof use === "object" && !isCheck(use) ? memberOf(use, name) : use;
    }
    // A module that a variable holds: `const x = require("x")`.
    const required = meaning.values.map(importIn).find((one) => one !== null);
    if (required) return this.#origins.get(required)?.use ?? true;
    if (this.#isTester(meaning)) return this.#allowed.tester;
    if (meaning.parameterOf && Object.hasOwn(this.#allowed.parameters, code.name))
      return this.#allowed.parameters[code.name] ?? true;
    return true;
  }

  #checkName(code: Name): void {
    if (code.name.includes("\\")) refuse(code, "hides a name");
    if (
      code.name === "this" &&
      this.#language === "javascript" &&
      !hasOwnThis(code, (call) => this.#isRunnerCall(call))
    )
      refuse(code, "runs code that it does not show");
    if (this.#language === "python") this.#checkHidden(code, code.name);
    if (this.#isDeclared(code)) return;
    let use = this.#useOf(code);
    let at: Code = code;
    for (let up = at.parent; typeof use === "object" && !isCheck(use); [at, up] = [up, up.parent]) {
      if (up?.is === "call" && up.callee === at && use["()"] !== undefined) {
        use = use["()"];
        if (isCheck(use)) {
          this.#checkUse(up, at, use);
          return;
        }
      } else if (up?.is === "member" && up.object === at) use = memberOf(use, up.name);
      else if (up?.is === "index" && up.object === at && constantText(up.key) !== null)
        use = use["[]"] ?? memberOf(use, constantText(up.key) ?? "");
      else if (this.#mayStandAlone(at, use)) return;
      else refuse(at, "passes on what it may only name members of", at.text);
      if (typeof use === "string") refuse(up ?? at, use);
      if (!up) return;
      if (isCheck(use)) {
        this.#checkUse(up.parent ?? up, up, use);
        return;
      }
    }
    if (typeof use === "string") refuse(code, use);
    if (isCheck(use)) this.#checkUse(code.parent ?? code, code, use);
  }

  /** Types, conversions and callbacks: `String` in `list.map(String)`, `value instanceof Date`, the test itself in `new Fake(t)`. */
  #mayStandAlone(at: Code, use: Uses): boolean {
    if (use === this.#allowed.tester) return true;
    const up = at.parent;
    if (up?.is === "other" && /instanceof/.test(up.kind)) return true;
    if (
      use["()"] !== undefined &&
      Object.values(use).every((one) => typeof one !== "string") &&
      at.is === "name"
    )
      return at.name !== "Date";
    const isType =
      up?.is === "call" &&
      up.args.includes(at) &&
      /^(?:any|instance|instanceOf|toBeInstanceOf|isinstance|a|an)$/i.test(lastName(up.callee));
    if (isType) return true;
    // `@pytest.fixture`, a module in an import of a parent.
    return up?.is === "other" && up.kind === "decorator" && use["()"] !== undefined;
  }

  #checkUse(call: Code, callee: Code, use: Check): void {
    if (use.check === "value" || use.check === "foreign") {
      if (call.is !== "call") return;
      const [first] = call.args;
      if (first && use.check === "foreign" && this.#isOwnThing(first))
        refuse(call, "changes, or asks for the parts of, the code under test");
      if (first && use.check === "value" && this.#isOwnThing(first))
        refuse(call, "may read the source of the code under test");
      const name = lastName(callee);
      if (
        /^(?:getattr|hasattr)$/.test(name === "()" ? "" : name) &&
        call.args[1] &&
        constantText(call.args[1]) === null
      )
        refuse(call, "names a member that it does not show");
      if (name === "getattr" && call.args[1]) this.#checkMember(call, constantText(call.args[1]) ?? "");
      return;
    }
    if (call.is !== "call" || call.callee !== callee) {
      if (use.check === "arguments" && call.is === "other" && /instanceof/.test(call.kind)) return;
      refuse(callee, "passes on what it may only call");
    }
    if (use.check === "zero") {
      if (call.args[0]?.text !== "0") refuse(call, "depends on the time");
    } else if (use.check === "arguments") {
      if (call.args.length < use.count || !call.isNew || /^\.\.\./.test(call.args[0]?.text ?? ""))
        refuse(call, "depends on the time");
    } else if (use.check === "paths") {
      this.#usesFiles = true;
      const asked = call.args.slice(0, use.count);
      const isPure = lastName(callee) === "Path" && this.#isHanded(call);
      if (
        asked.length === 0 ||
        !asked.every((one) => isPure || /^["':]+memory:["']$/.test(one.text) || this.#isTemporary(one))
      )
        refuse(call, "uses files outside of a temporary folder");
    }
  }

  /** Whether it is an argument of the repository's code. */
  #isHanded(code: Code): boolean {
    let at: Code = code;
    for (const up of around(code)) {
      if (up.is === "call" && up.args.includes(at)) return this.#flow.isOwnCall(up);
      if (up.is === "block" || up.is === "bind") return false;
      at = up;
    }
    return false;
  }

  /** Names with which Python shows how something is made. */
  #checkHidden(code: Code, name: string): void {
    const isKnown = Object.hasOwn(this.#allowed.members, name) || Object.hasOwn(this.#allowed.globals, name);
    if (/^__.*__$/.test(name) && !isKnown) refuse(code, "looks at the source, not at what it does");
  }

  /** `logging.os`: a module in a module is not what its table allows. */
  #checkInnerModule(code: Code, specifier: string, name: string): void {
    const { modules } = this.#allowed;
    const isModule = Object.hasOwn(modules, name) && !Object.hasOwn(modules, `${specifier}.${name}`);
    const isNamesake = specifier.split(".").at(-1) === name || modules[name] === true;
    if (
      this.#language === "python" &&
      Object.hasOwn(modules, specifier) &&
      modules[specifier] === true &&
      isModule &&
      !isNamesake
    )
      refuse(code, "uses what a test may not");
  }

  #checkMember(code: Code, name: string): void {
    const use = Object.hasOwn(this.#allowed.members, name) ? this.#allowed.members[name] : undefined;
    const isMethod = code.is === "pair" && code.value.is === "function";
    if (typeof use === "string" && !isMethod) refuse(code, use);
    if (this.#language === "python" && use === undefined && /^__.*__$/.test(name))
      refuse(code, "looks at the source, not at what it does");
    if (code.is !== "member") return;
    const root = rootOf(code);
    const isDeep =
      this.#language === "python" && /^(?:os|sys|subprocess|builtins|importlib|inspect|ctypes)$/.test(name);
    if (isDeep && root && this.#names.of(root)?.imported) refuse(code, "uses what a test may not");
    const imported = code.object.is === "name" ? this.#names.of(code.object)?.imported : null;
    if (imported) this.#checkInnerModule(code, imported.by.specifier ?? "", name);
    if (name === "toString" && this.#isOwnThing(code.object))
      refuse(code, "may read the source of the code under test");
    if (
      /^(?:parent|parents|root|anchor|drive|cwd|home|absolute|resolve|symlink_to|hardlink_to|readlink)$/.test(
        name,
      ) &&
      this.#language === "python" &&
      this.#isTemporary(code.object)
    )
      refuse(code, "uses files outside of a temporary folder");
    if (name === "skip" || name === "retries" || name === "only") {
      const root = rootOf(code);
      if (root && this.#isRunner(root)) refuse(code, "leaves out or repeats tests");
    }
  }

  #checkIndex(code: Code & { is: "index" }): void {
    const key = constantText(code.key) ?? this.#constantOf(code.key);
    if (key !== null) {
      const use = Object.hasOwn(this.#allowed.members, key) ? this.#allowed.members[key] : undefined;
      if (typeof use === "string") refuse(code, use);
      return;
    }
    const hides =
      code.key.is === "text" ||
      (code.key.is === "other" &&
        /^binary/.test(code.key.kind) &&
        [...everything(code.key)].some(({ is }) => is === "text"));
    if (this.#isModule(code.object) || (hides && code.parent?.is === "call" && code.parent.callee === code))
      refuse(code, "names a member that it does not show");
  }

  #constantOf(code: Code): string | null {
    const values = this.#names.meaning(code)?.values ?? [];
    return values.length === 1 && values[0] ? constantText(values[0]) : null;
  }

  // What a test changes.

  #checkTarget(by: Code & { is: "bind" }, target: Code): void {
    if (target.is === "other" || target.is === "pair" || target.is === "bind")
      for (const child of target.is === "bind" ? target.targets : target.children)
        this.#checkTarget(by, child);
    if (target.is === "name" && (by.how === "assign" || by.how === "update" || by.how === "iterate")) {
      const meaning = this.#names.of(target);
      if (meaning?.imported && by.how !== "iterate") refuse(by, "replaces the code under test");
      if (by.value?.is === "function" && this.#isOwnThing(target)) refuse(by, "replaces the code under test");
      if (!meaning && target.name !== "_") refuse(by, "replaces what it does not declare");
    }
    if (target.is === "member" || target.is === "index") this.#checkChange(by, target, by.value);
  }

  #checkChange(by: Code, target: Code & { is: "member" | "index" }, value: Code | null): void {
    const root = rootOf(target);
    if (!root && everything(target).some(({ is }) => is === "import"))
      refuse(by, "replaces the code under test");
    if (!root) return;
    const meaning = this.#names.of(root);
    if (/^(?:process\.env|os\.environ|environ)\b/.test(target.text) && (!meaning || meaning.imported)) return;
    if (/^(?:this|self|cls)$/.test(root.name)) return;
    if (!meaning || meaning.imported || this.#isOwnThing(root)) {
      if (/^(?:document|_)$/.test(root.name)) return;
      refuse(by, "replaces the code under test");
    }
    const isFunction =
      value !== null &&
      (value.is === "function" ||
        this.#names.functions(value).length > 0 ||
        /\b(?:fn|fake|Mock|MagicMock|AsyncMock|stub)\b/.test(value.is === "call" ? value.callee.text : ""));
    const isHandler = target.is === "member" && /^on[a-z_]/.test(target.name);
    if (isFunction && !isHandler && this.#comesFromOwn(root)) refuse(by, "replaces the code under test");
  }

  /** Whether a name is an object that the repository's code made: its value begins with a call of that code. */
  #comesFromOwn(root: Name): boolean {
    return (this.#names.of(root)?.values ?? []).some((value) => {
      const begin = rootOf(unwrapped(value));
      return begin !== null && begin !== root && this.#flow.isOwnName(begin) && this.#isOwnThing(begin);
    });
  }

  #checkOperator(code: Code & { is: "operator" }): void {
    const [inner] = code.children.slice(-1);
    if (!inner) return;
    if (code.operator === "delete") {
      for (const one of inner.is === "other" ? inner.children : [inner])
        if (one.is === "member" || one.is === "index") this.#checkChange(code, one, null);
        else if (one.is === "name" && this.#names.of(one)?.imported)
          refuse(code, "replaces the code under test");
      return;
    }
    const whole = inner.is === "bind" ? inner.value : inner;
    const isAsked =
      (whole !== null && this.#isModule(whole)) ||
      (code.operator === "typeof" && inner.is === "member" && this.#isModule(inner.object));
    if (isAsked) refuse(code, "asks which names a module has");
  }

  #checkCall(code: Call): void {
    const name = lastName(code.callee);
    const module = code.args.find((one) => this.#isModule(one));
    if (
      module &&
      !this.#isModule(code.callee) &&
      /^(?:keys|values|entries|getOwnPropertyNames|fromEntries|hasOwn|stringify|assign|freeze|seal|create|inspect|toHaveProperty|property|hasattr|getattr|dir|vars|is|str|repr|ok|deepEqual|deepStrictEqual|expect)$/.test(
        name,
      )
    )
      refuse(code, "asks which names a module has");
    if (
      this.#language === "javascript" &&
      /^(?:concat|join|stringify|RegExp|encodeURIComponent|escape|btoa|split|localeCompare|match|test|format)$/.test(
        name,
      )
    ) {
      const bare = code.args.find((one) => this.#isOwnFunction(one));
      if (bare && !(name === "test" && code.callee.is === "name"))
        refuse(code, "may read the source of the code under test");
    }
    const isPatch =
      code.callee.is === "member" && /^(?:spyOn|patch|setattr|setitem|delattr|syspath_prepend)$/.test(name);
    if (isPatch && !this.#isModule(code.callee) && !this.#flow.isOwn(code.callee))
      refuse(code, "replaces the code under test");
  }

  /** `"" + f`, `${f}`. */
  #checkJoined(code: Code & { is: "other" }): void {
    const [first] = code.children;
    if (code.kind === "export_statement" && code.children.some(({ is }) => is === "text"))
      refuse(code, "exports what it does not show");
    if (code.kind === "with_statement" && this.#language === "javascript")
      refuse(code, "runs code that it does not show");
    if (/^(?:spread_element|dictionary_splat)$/.test(code.kind) && first && this.#isModule(first))
      refuse(code, "asks which names a module has");
    if (
      code.kind === "unary_expression" &&
      this.#language === "go" &&
      code.text.startsWith("&") &&
      first?.is === "name" &&
      this.#names.of(first) === null
    )
      refuse(code, "may replace the code under test");
    if (!/^(?:binary \+|template_substitution|interpolation)$/.test(code.kind)) return;
    if (code.kind === "binary +") {
      const joined = constantText(code);
      if (
        joined !== null &&
        code.parent &&
        !/^binary/.test(code.parent.is === "other" ? code.parent.kind : "")
      )
        this.#checkWritten(code, joined);
    }
    if (this.#language !== "javascript") return;
    const bare = code.children.find((one) => this.#isOwnFunction(one));
    if (bare) refuse(code, "may read the source of the code under test");
  }

  #checkText(code: Code & { is: "text" }): void {
    const inTest = code.value ?? "";
    if (code.text.length > longestText || new RegExp(`[^\\s]{${longestWord},}`).test(code.text))
      refuse(code, "contains a long text");
    if (this.#language === "python" && /\.__\w+__/.test(code.text))
      refuse(code, "looks at the source, not at what it does");
    this.#checkWritten(code, inTest);
  }

  #checkWritten(code: Code, value: string): void {
    const path = value.replace(/^file:\/\//, "").replace(/^\.\//, "");
    const isOwnFile = path !== "" && path.length < 500 && this.#facts.isFile(posix.normalize(path));
    if (
      isOwnFile ||
      /^\/(?:work|proc|sys|dev|etc|home|root|usr)(?:\/|$)|(?:^|\/)(?:\.git|node_modules)(?:\/|$)/.test(path)
    )
      refuse(code, "names a file of the repository or of the machine");
  }

  /** In a test that uses files, a way up is a way out. */
  #checkNoClimb(code: Code): void {
    if (
      code.is !== "text" ||
      !/(?:^|[/\\])\.\.(?:$|[/\\])/.test(code.text.replace(/^[a-z]*["'`]+|["'`]+$/gi, ""))
    )
      return;
    if (!this.#isHanded(code)) refuse(code, "uses files outside of a temporary folder");
  }

  #checkOption(code: Code & { is: "pair" }): void {
    const call = [...around(code)].find((one) => one.is === "call");
    if (call?.is === "call" && this.#isRunnerCall(call) && code.parent?.parent === call)
      refuse(code, "leaves out or repeats tests");
  }

  #checkFunction(code: Code & { is: "function" }): void {
    if (this.#language === "go") {
      if (code.name === "init" || code.name === "TestMain") refuse(code, "changes how tests run", code.name);
      const type = /^func\s*\(\s*\w*\s*\*?\s*(\w+)/.exec(code.text)?.[1];
      if (code.parent?.is === "pair" && type !== undefined && !this.#declaresType(type))
        refuse(code, "adds to the code under test", code.parent.name ?? "");
    }
    if (this.#language === "python" && /^(?:load_tests$|pytest_)/.test(code.name ?? ""))
      refuse(code, "changes how tests run", code.name ?? "");
    if (this.#language === "javascript" && /^(?:prepareStackTrace)$/.test(code.name ?? ""))
      refuse(code, "looks at the source");
  }

  #declaresType = (type: string) =>
    this.#all.some(
      (one) =>
        one.is === "bind" &&
        one.how === "declare" &&
        one.targets.some((target) => target.is === "name" && target.name === type),
    );

  // What a test asserts.

  /** A failure without a condition. */
  #checkEnd(code: Code & { is: "end" }): void {
    if (code.how === "throw" && this.#failsAlways(code)) refuse(code, "fails whatever the code does");
  }

  #failsAlways(code: Code): boolean {
    for (const one of around(code)) {
      if (one.is === "branch" || one.is === "try") return false;
      if (one.is === "other" && /_case$|switch_case|case_clause|with_statement/.test(one.kind)) return false;
      if (one.is === "block" && one.parent?.is === "try") return false;
      if (one.is === "block" && one.children.some((before) => before.line < code.line && hasEarlyEnd(before)))
        return false;
      if (one.is === "function") return this.#isTestFunction(one);
    }
    return true;
  }

  #isTestFunction(code: Code & { is: "function" }): boolean {
    const call = code.parent;
    if (call?.is === "call" && call.args.includes(code)) return this.#isRunnerCall(call);
    return this.#language !== "javascript" && /^(?:test|Test)/.test(code.name ?? "");
  }

  #checkAsserts(): void {
    const assertions = this.#all.filter((code) => this.#isAssertion(code));
    for (const code of this.#all)
      if (code.is === "call" && this.#isFailing(code) && this.#failsAlways(code))
        refuse(code, "fails whatever the code does");
    if (assertions.length === 0) throw new Refusal("it asserts nothing");
    const telling = assertions.filter((code) => this.#assertsOwn(code));
    if (telling.length === 0)
      throw new Refusal("it asserts nothing that the code of the repository produced");
    if (!telling.some((code) => this.#isLive(code)))
      throw new Refusal("its assertions do not run, or their failures are hidden");
  }

  #isFailing({ callee, args }: Call): boolean {
    const root = rootOf(callee);
    if (!root) return false;
    const name = lastName(callee);
    if (callee.is === "name")
      return this.#language === "go" && name === "panic" && this.#names.of(callee) === null;
    if (!this.#isRunner(root) && root.name !== "self") return false;
    return (
      /^(?:fail|Fail|FailNow|unreachable|Error|Errorf|Fatal|Fatalf)$/.test(name) &&
      !(root.name === "self" && args.length > 1)
    );
  }

  #isAssertion(code: Code): boolean {
    if (code.is === "assert") return true;
    if (code.is === "end" && code.how === "throw") return true;
    if (code.is === "member" && code.name === "should") return true;
    // `expect(x).to.be.true` of chai is no call.
    if (code.is === "member" && !isCallee(code)) return this.#isExpecting(code) && code.object.is !== "name";
    if (code.is !== "call") return false;
    return this.#isFailing(code) || this.#isExpecting(code);
  }

  #isExpecting(code: Code): boolean {
    const root = rootOf(code);
    if (!root) return false;
    const meaning = this.#names.of(root);
    const first = lastName(code.is === "call" ? code.callee : code);
    if (root.name === "self" || root.name === "cls") return /^(?:assert|fail)/.test(first);
    if (!meaning)
      return (
        (root.name === "expect" && !(code.is === "call" && code.callee === root)) || root.name === "assert"
      );
    const source =
      meaning.imported?.by.specifier ??
      meaning.values.map(importIn).find((one) => one !== null)?.specifier ??
      null;
    const imported = meaning.imported?.name ?? "*";
    if (
      source !== null &&
      /^(?:vitest|@jest\/globals|chai)$/.test(source) &&
      (imported === "expect" || root.name === "expect")
    )
      return !(code.is === "call" && code.callee === root);
    if (source !== null && /^(?:vitest|chai|(?:node:)?test)$/.test(source))
      return imported === "assert" || root.name === "assert";
    if (source === "pytest" && imported === "raises") return true;
    if (source === "pytest") return /^(?:raises|warns|deprecated_call)$/.test(first);
    if (source !== null)
      return asserting.test(source) && !/^(?:test|it|describe|before|after|plan|end)/.test(first);
    return (
      this.#language === "javascript" &&
      this.#isTester(meaning) &&
      code.is === "call" &&
      code.callee !== root &&
      !/^(?:skip|todo|after|before|test|plan|end|pass|teardown|timeout|context|log|fn)/.test(first)
    );
  }

  #assertsOwn(code: Code): boolean {
    const { dependsOnOwn } = { dependsOnOwn: () => this.#dependsDirectly(code) };
    if (code.is === "end" || (code.is === "call" && this.#isFailing(code)))
      return dependsOnOwn() || this.#isAfterOwnReturn(code);
    if (code.is === "member" && code.name === "should") return this.#flow.isOwn(code.object);
    if (code.is === "assert") {
      const [asked] = code.children;
      return asked !== undefined && this.#flow.isOwn(asked) && !isSame(asked.children);
    }
    const operands: Code[] = [];
    for (let at: Code = code; ; ) {
      if (at.is === "call") {
        operands.push(...at.args);
        at = at.callee;
      } else if (at.is === "member") at = at.object;
      else break;
    }
    const withItem = [...around(code)]
      .slice(0, 5)
      .find((one) => one.is === "other" && one.kind === "with_statement");
    if (withItem && /raises|Raises|warns|Warns/.test(lastName(code.is === "call" ? code.callee : code)))
      operands.push(...withItem.children.filter((one) => one.is === "block"));
    return operands.some((one) => this.#flow.isOwn(one)) && !isSame(operands);
  }

  /** Whether a failure stands under a condition on what own code did. */
  #dependsDirectly(code: Code): boolean {
    let at = code;
    for (const up of around(code)) {
      if (up.is === "branch" && up.conditions.some((one) => one !== at && this.#flow.isOwn(one))) return true;
      if (up.is === "try" && this.#flow.isOwn(up.body)) return true;
      if (up.is === "function" && this.#flow.isCalledByOwn(up)) return true;
      if (up.is === "function" && !isBlockOf(up, at)) return false;
      at = up;
    }
    return false;
  }

  /** `if (own()) return; throw ...` */
  #isAfterOwnReturn(code: Code): boolean {
    for (const up of around(code)) {
      if (up.is === "function") return false;
      if (up.is !== "block") continue;
      if (
        up.children.some(
          (one) =>
            one.line < code.line &&
            one.is === "branch" &&
            hasEarlyEnd(one) &&
            one.conditions.some((asked) => this.#flow.isOwn(asked)),
        )
      )
        return true;
    }
    return false;
  }

  /** Whether an assertion runs, and its failure fails the test, as far as the text shows. */
  #isLive(code: Code): boolean {
    let at: Code = code;
    for (const up of around(code)) {
      if (up.is === "block") {
        const before = up.children.slice(0, up.children.indexOf(at));
        if (before.some((one) => one.is === "end")) return false;
      }
      if (
        up.is === "branch" &&
        up.conditions.length > 0 &&
        !up.conditions.includes(at) &&
        up.how !== "loop" &&
        up.conditions.every((one) => isPrimitive(one) || isConstantTest(one))
      )
        return false;
      if (
        up.is === "branch" &&
        up.how === "loop" &&
        up.conditions.some((one) => /^(?:\[\s*\]|\(\s*\)|false|False)$/.test(one.text))
      )
        return false;
      if (
        up.is === "try" &&
        up.body === at &&
        up.handlers.length > 0 &&
        !up.handlers.some((one) => this.#rethrows(one)) &&
        !(code.is === "call" && this.#isFailing(code))
      )
        return false;
      if (up.is === "function" && !this.#isReached(up)) return false;
      at = up;
    }
    return true;
  }

  #rethrows = (handler: Code): boolean =>
    [...everything(handler)].some(
      (one) => (one.is === "end" && one.how === "throw") || this.#isAssertion(one),
    );

  #isReached(code: Code & { is: "function" }): boolean {
    const named = code.name !== null && code.name !== "" ? code.name : null;
    if (
      named !== null &&
      /^(?:test|Test|setUp|tearDown|asyncSetUp|runTest|setup|teardown)/.test(named) &&
      this.#language !== "javascript"
    )
      return true;
    if (code.decorators.length > 0) return true;
    const holder = named === null ? code.parent : code;
    if (holder?.is === "call") return true;
    // A method is reached by its object.
    if (holder?.is === "pair" || holder?.parent?.is === "class" || holder?.parent?.parent?.is === "class")
      return true;
    const meanings =
      holder?.is === "bind"
        ? holder.targets.flatMap(namesIn).map((one) => this.#names.of(one))
        : named === null
          ? []
          : [this.#meaningOf(code, named)];
    if (meanings.length === 0) return holder?.is !== "other" || holder.parent !== null;
    return meanings.some((one) => one !== null && this.#flow.isUsed(one));
  }

  #meaningOf = (code: Code, name: string): Meaning | null =>
    this.#names.of({ is: "name", name, line: code.line, text: name, parent: code.parent, children: [] });

  // What is what.

  /** A module of the repository as a whole. */
  #isModule(code: Code): boolean {
    if (code.is !== "name") return false;
    const meaning = this.#names.of(code);
    if (!meaning) return false;
    if (meaning.imported) {
      const isOwn = this.#origins.get(meaning.imported.by)?.isOwn ?? false;
      return (
        isOwn &&
        (meaning.imported.name === "*" || (this.#language === "python" && this.#isOwnSubmodule(meaning)))
      );
    }
    return meaning.values.some((value) => {
      const required = importIn(value);
      return (
        required !== null &&
        (this.#origins.get(required)?.isOwn ?? false) &&
        !/^\{/.test(meaning.places[0]?.is === "bind" ? (meaning.places[0].targets[0]?.text ?? "") : "")
      );
    });
  }

  #isOwnSubmodule({ imported }: Meaning): boolean {
    const from = imported?.by.specifier ?? "";
    const joined = from.endsWith(".") ? from + (imported?.name ?? "") : `${from}.${imported?.name ?? ""}`;
    return pythonFile(this.#test.path, joined, this.#facts) !== null;
  }

  /** What the repository's files export, or a part of it; no value that its calls returned. */
  #isOwnThing(code: Code): boolean {
    if (code.is === "member") return this.#isOwnThing(code.object);
    if (code.is !== "name") return false;
    const meaning = this.#names.of(code);
    if (!meaning) return false;
    if (this.#isModule(code)) return true;
    if (meaning.imported)
      return (this.#origins.get(meaning.imported.by)?.isOwn ?? false) && !isConstantName(code.name);
    return meaning.values.some(
      (value) =>
        value !== code &&
        value.is !== "function" &&
        (value.is === "name" || value.is === "member" || importIn(value) !== null) &&
        !meaning.parameterOf &&
        this.#isOwnThing(importIn(value) ? code : value),
    );
  }

  #isOwnFunction = (code: Code): boolean =>
    (code.is === "name" || code.is === "member") &&
    !isConstantName(code.is === "name" ? code.name : code.name) &&
    this.#isOwnThing(code);

  #isDeclared(code: Name): boolean {
    for (let at: Code = code, up = code.parent; up; [at, up] = [up, up.parent]) {
      if (up.is === "bind")
        return (
          up.targets.includes(at) &&
          up.how !== "update" &&
          (at !== code || this.#names.of(code) !== null) &&
          !this.#names.of(code)?.imported
        );
      if (up.is === "pair" ? up.value !== at : up.is !== "other") return false;
    }
    return false;
  }

  #isRunner(root: Name): boolean {
    const meaning = this.#names.of(root);
    if (!meaning)
      return (
        /^(?:expect|assert|test|it|describe|suite|context|specify|before|after|beforeEach|afterEach|beforeAll|afterAll|vi|jest|this)$/.test(
          root.name,
        ) && this.#language === "javascript"
      );
    const source =
      meaning.imported?.by.specifier ?? meaning.values.map(importIn).find((one) => one !== null)?.specifier;
    if (source !== undefined && source !== null) return running.test(source) || asserting.test(source);
    return this.#isTester(meaning);
  }

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
    if (this.#language === "python")
      return meaning.name === "self" && owner.params.some((one) => one.text === "self");
    const call = owner.parent;
    if (call?.is !== "call" || !call.args.includes(owner) || call.callee.is === "call") return false;
    const [first] = owner.params;
    const isFirst =
      first?.is === "bind" &&
      first.targets.some((target) => target.is === "name" && target.name === meaning.name);
    const root = rootOf(call.callee);
    if (!isFirst || !root) return false;
    const named = this.#names.of(root);
    if (!named) return /^(?:test|it|describe|suite|before|after)/.test(root.name);
    const source =
      named.imported?.by.specifier ?? named.values.map(importIn).find((one) => one !== null)?.specifier;
    return (
      (source !== undefined && source !== null && running.test(source)) ||
      (named !== meaning && this.#isTester(named))
    );
  }

  /** A fixture of pytest: of this file, or of a `conftest.py` of the repository. */
  #isOwnFixture(meaning: Meaning, flow: Flow): boolean {
    const owner = meaning.parameterOf;
    if (this.#language !== "python" || !owner || !/^test|^setup/.test(owner.name ?? "")) {
      if (this.#language !== "python" || !owner?.decorators.some(({ text }) => /fixture/.test(text)))
        return false;
    }
    if (
      meaning.name === "self" ||
      /^(?:tmp_path|tmpdir|tmp_path_factory|monkeypatch|mocker|request)$/.test(meaning.name)
    )
      return false;
    if (/^(?:capsys|caplog|capfd|recwarn)$/.test(meaning.name)) return true;
    const listed = owner.decorators.some(
      ({ text }) => /parametrize/.test(text) && new RegExp(`["',\\s]${meaning.name}["',\\s]`).test(text),
    );
    if (listed) return owner.decorators.some((one) => flow.isOwn(one));
    const fixture = this.#all.find(
      (one) =>
        one.is === "function" &&
        one.name === meaning.name &&
        one.decorators.some(({ text }) => /fixture/.test(text)),
    );
    if (fixture?.is === "function") {
      const named: Name = {
        is: "name",
        name: meaning.name,
        line: 0,
        text: meaning.name,
        parent: this.#root,
        children: [],
      };
      return flow.isOwn({
        is: "call",
        callee: named,
        args: [],
        isNew: false,
        line: 0,
        text: "",
        parent: null,
        children: [named],
      });
    }
    return beginnings(`./${posix.dirname(this.#test.path)}`, "/").some((folder) =>
      this.#facts.isFile(posix.join(folder, "conftest.py")),
    );
  }

  /** Whether an expression is a path below a temporary folder that the test makes. */
  #isTemporary(code: Code, seen = new Set<Code>()): boolean {
    if (seen.has(code)) return true;
    seen.add(code);
    const isTemporary = (one: Code | undefined): boolean => one !== undefined && this.#isTemporary(one, seen);
    switch (code.is) {
      case "name":
      case "member": {
        const meaning = this.#names.meaning(code);
        if (meaning && !meaning.imported) {
          if (
            this.#language === "python" &&
            meaning.parameterOf &&
            /^(?:tmp_path|tmpdir)$/.test(meaning.name)
          )
            return true;
          return meaning.values.length > 0 && meaning.values.every(isTemporary);
        }
        return code.is === "member" && /^(?:name|path|stdin)$/.test(code.name) && isTemporary(code.object);
      }
      case "call": {
        const name = lastName(code.callee);
        if (/^(?:mkdtemp|mkdtempSync|TemporaryDirectory|NamedTemporaryFile|TempDir|MkdirTemp)$/.test(name))
          return this.#isMadeThere(code);
        if (/^(?:join|Join|Path|str|String|fspath)$/.test(name)) return isTemporary(code.args[0]);
        return (
          /^(?:joinpath|with_name|with_suffix|mktemp)$/.test(name) &&
          code.callee.is === "member" &&
          isTemporary(code.callee.object)
        );
      }
      case "bind":
        return code.value !== null && isTemporary(code.value);
      case "text": {
        const [first] = code.children;
        return first !== undefined && /^(?:f?["'`]+)\$?\{/i.test(code.text) && isTemporary(first);
      }
      case "other":
        return (
          /^(?:binary|await|expression_list|template_substitution|interpolation)/.test(code.kind) &&
          isTemporary(code.children[0])
        );
      default:
        return false;
    }
  }

  /** Whether the arguments leave the new folder in the folder for such. */
  #isMadeThere = ({ callee, args }: Call): boolean => {
    const root = rootOf(callee);
    if (root && this.#comesFromOwn(root)) return false;
    return args.every(
      (one) =>
        one.text === '""' ||
        /tmpdir\s*\(\)|^["'`][\w.-]*["'`]$|^(?:prefix|suffix)=["'][\w.-]*["']$|^(?:mode|encoding|delete)=/.test(
          one.text,
        ),
    );
  };
}

interface Origin {
  isOwn: boolean;
  isLibrary?: boolean;
  use: Use;
}

const memberOf = (uses: Uses, name: string, otherwise = "uses what a test may not"): Use =>
  (Object.hasOwn(uses, name) ? uses[name] : uses["*"]) ?? otherwise;

const lastName = (callee: Code): string =>
  callee.is === "name" || callee.is === "member" ? callee.name : "";
const isCallee = (code: Code): boolean => {
  const up = code.parent;
  return (up?.is === "call" && up.callee === code) || (up?.is === "member" && up.object === code);
};
const isConstantName = (name: string): boolean => /^[A-Z][A-Z0-9_]*$/.test(name);
const isBlockOf = (owner: Code, body: Code): boolean =>
  owner.children.includes(body) && owner.parent?.is === "call";

/** Whether a statement may leave the block before its end. */
const hasEarlyEnd = (code: Code): boolean =>
  (code.is === "branch" || code.is === "try") && [...everything(code)].some(({ is }) => is === "end");

/** Conditions without a name. */
const isConstantTest = (code: Code): boolean =>
  ![...everything(code)].some(
    (one) => one.is === "name" || one.is === "call" || (one.is === "text" && one.value === null),
  );

/** `x` and `x`: they cannot differ. */
const isSame = ([left, right, ...rest]: readonly Code[]): boolean =>
  rest.length === 0 &&
  left !== undefined &&
  right !== undefined &&
  left.text === right.text &&
  left.is !== "call" &&
  ![...everything(left)].some(({ is }) => is === "call");

const unwrapped = (code: Code): Code =>
  code.is === "other" && code.children.length === 1 && code.children[0] ? unwrapped(code.children[0]) : code;

/** The `require` or `import()` that a value is. */
function importIn(code: Code): (Code & { is: "import" }) | null {
  const inner = unwrapped(code);
  return inner.is === "import" ? inner : null;
}

const beginnings = (path: string, separator: string): string[] =>
  path.split(separator).map((_, at, all) => all.slice(0, all.length - at).join(separator));

const packageName = (specifier: string): string => /^(?:@[^/]+\/)?[^/]+/.exec(specifier)?.[0] ?? specifier;

const scriptEnds = ["ts", "tsx", "mts", "cts", "js", "jsx", "mjs", "cjs"];

/** Only code: a file of data would be read, not run. */
function isOwnScript(from: string, specifier: string, { isFile, isOwnPackage }: TestFacts): boolean {
  if (/[?!#:]/.test(specifier.replace(/^#/, ""))) return false;
  const isAt = (path: string) => {
    const bare = path.replace(/\.([cm]?)jsx?$/, "");
    const places = [
      ...scriptEnds.map((end) => `${path}.${end}`),
      ...scriptEnds.map((end) => posix.join(path, `index.${end}`)),
      ...(bare === path ? [] : scriptEnds.map((end) => `${bare}.${end}`)),
    ];
    return (
      (isFile(path) && new RegExp(`\\.(?:${scriptEnds.join("|")}|vue|svelte)$`).test(path)) ||
      places.some(isFile)
    );
  };
  if (/^\.{1,2}(?:\/|$)/.test(specifier)) return isAt(posix.join(posix.dirname(from), specifier));
  const aliased = /^(?:[@~]\/|#)(.+)$/.exec(specifier)?.[1];
  if (aliased !== undefined) return isAt(`src/${aliased}`) || isAt(aliased);
  return isOwnPackage(packageName(specifier)) && !/\.(?:json|txt|md|wasm|node)$/.test(specifier);
}

/** The file of a module of Python; null if the repository has none. */
function pythonFile(from: string, specifier: string, { isFile }: TestFacts): string | null {
  const [, dots = "", rest = ""] = /^(\.*)(.*)$/.exec(specifier) ?? [];
  const place = rest.replaceAll(".", "/");
  let folder = posix.dirname(from);
  for (let level = 1; level < dots.length; level++) folder = posix.dirname(folder);
  const folders =
    dots === ""
      ? beginnings(`./${folder}`, "/").flatMap((one) => [one, posix.join(one, "src"), posix.join(one, "lib")])
      : [folder];
  for (const one of folders)
    for (const end of [".py", "/__init__.py"]) {
      const path = posix.normalize(posix.join(one, place + end));
      if (isFile(path)) return path;
    }
  return null;
}

function isOwnPython(from: string, specifier: string, facts: TestFacts, names: readonly string[]): boolean {
  if (/^\.+$/.test(specifier))
    return (
      names.every((name) => pythonFile(from, specifier + name, facts) !== null) ||
      pythonFile(from, `${specifier}__init__`, facts) !== null
    );
  return pythonFile(from, specifier, facts) !== null || facts.isOwnPackage(specifier.split(".")[0] ?? "");
}

const isOwnGo = (_from: string, specifier: string, { isOwnPackage }: TestFacts): boolean =>
  beginnings(specifier, "/").some(isOwnPackage);

/** Whether `this` is what a class, an object or a runner says; elsewhere it may be all globals. */
function hasOwnThis(code: Code, isRunnerCall: (call: Call) => boolean): boolean {
  for (const one of around(code)) {
    if (one.is === "class") return true;
    if (one.is !== "function") continue;
    if (one.parent?.is === "pair") return true;
    if (/^(?:async\s+)?function\b/.test(one.text))
      return one.parent?.is === "call" && isRunnerCall(one.parent);
  }
  return false;
}
