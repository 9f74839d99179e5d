/**
 * Which values of a test depend on what the repository's code does. `Names` resolves names, `Flow` follows values. Order in time does not
 * count, and a value in a library or a container counts as a whole: a test seldom counts as independent of the code although it is not.
 */
import { around, type Code, everything, type Of, rootOf, type Syntax } from "./test-code.ts";

export type Call = Of<"call">;
export type Name = Of<"name">;
type Function = Of<"function">;
type Bind = Of<"bind">;

export interface Meaning {
  name: string;
  /** What it stands for at some time, each with the place that says so. */
  values: Code[];
  places: Code[];
  imported: { by: Of<"import">; name: string } | null;
  /** The function whose parameter it is. */
  parameterOf: Function | null;
}

/** Which names mean the same, and what a name may stand for. */
export class Names {
  readonly root: Code;
  readonly #syntax: Syntax;
  readonly #scopes = new Map<Code, Map<string, Meaning>>();
  /** Names that a function of Python takes from around it. */
  readonly #outer = new Map<Code, Set<string>>();
  /** In Python an assignment declares a name. */
  readonly #assignDeclares: boolean;
  readonly #meanings = new Map<Code, Meaning | null>();

  constructor(root: Code, syntax: Syntax) {
    this.root = root;
    this.#syntax = syntax;
    this.#assignDeclares = !syntax.scopes.has("block");
    const all = everything(root);
    for (const code of all)
      if (code.is === "outer") this.#outer.set(this.#scopeOf(code), new Set(code.names));
    for (const code of all) this.#declare(code);
    for (const code of all) if (code.is === "bind") this.#assign(code);
  }

  #declare(code: Code): void {
    const scope = this.#scopeOf(code);
    if (code.is === "bind") this.#declareBind(code, scope);
    else if ((code.is === "function" || code.is === "class") && code.name)
      this.#declareNamed(code, code.name, code, scope);
    else if (code.is === "pair" && code.name && scope.is === "class" && code.parent?.parent === scope)
      this.#give(this.#in(this.root, `self.${code.name}`), code.value, code);
    else if (code.is === "import")
      for (const { local, name } of code.names)
        this.#in(scope, local.split(".")[0] ?? local).imported = { by: code, name };
  }

  #declareNamed(code: Code, name: string, value: Code | null, scope: Code): void {
    this.#give(this.#in(scope, name), value, code);
    if (scope.is === "class") this.#give(this.#in(this.root, `self.${name}`), value, code);
  }

  #declareBind(code: Bind, scope: Code): void {
    if (code.how === "update" || (code.how === "assign" && !this.#assignDeclares)) return;
    for (const { name } of code.targets.flatMap(namesIn)) {
      if (this.#outer.get(scope)?.has(name)) continue;
      const meaning = this.#in(scope, name);
      if (code.how !== "assign" || scope.is === "class") this.#declareNamed(code, name, code.value, scope);
      if (code.how === "parameter" && scope.is === "function") meaning.parameterOf ??= scope;
    }
  }

  /** What is assigned to a name that another place declares. */
  #assign(code: Bind): void {
    if (code.how !== "assign" && code.how !== "update") return;
    for (const target of code.targets) {
      const member = target.is === "member" ? this.ofMember(target, true) : null;
      const meanings = member ? [member] : namesIn(target).map((one) => this.of(one));
      for (const meaning of meanings) if (meaning) this.#give(meaning, code.value, code);
    }
  }

  #scopeOf = (code: Code): Code => around(code).find(({ is }) => this.#syntax.scopes.has(is)) ?? this.root;

  #in(scope: Code, name: string): Meaning {
    const names = this.#scopes.get(scope) ?? new Map<string, Meaning>();
    this.#scopes.set(scope, names);
    const meaning = names.get(name) ?? { name, values: [], places: [], imported: null, parameterOf: null };
    names.set(name, meaning);
    return meaning;
  }

  #give(meaning: Meaning, value: Code | null, place: Code): void {
    if (value) meaning.values.push(value);
    meaning.places.push(place);
  }

  /** Null for a name that no place of the file declares. */
  of(code: Name): Meaning | null {
    let found = this.#meanings.get(code);
    if (found === undefined) {
      found = this.lookup(code.name, code);
      this.#meanings.set(code, found);
    }
    return found;
  }

  /** What a name means at a place. */
  lookup(name: string, place: Code): Meaning | null {
    let isInFunction = false;
    for (const one of [...around(place), this.root]) {
      // The methods of a class do not see its names.
      const found = one.is === "class" && isInFunction ? undefined : this.#scopes.get(one)?.get(name);
      if (found) return found;
      isInFunction ||= one.is === "function";
    }
    return null;
  }

  /** `this.x`, `self.x`: one meaning in the whole file. */
  ofMember(code: Of<"member">, makes = false): Meaning | null {
    if (code.object.is !== "name" || !/^(?:this|self|cls)$/.test(code.object.name)) return null;
    const name = `self.${code.name}`;
    return makes ? this.#in(this.root, name) : (this.#scopes.get(this.root)?.get(name) ?? null);
  }

  meaning(code: Code): Meaning | null {
    if (code.is === "name") return this.of(code);
    return code.is === "member" ? this.ofMember(code) : null;
  }

  /** The functions of this file that a callee may be. */
  functions(callee: Code, seen = new Set<Code>()): Function[] {
    if (seen.has(callee)) return [];
    seen.add(callee);
    if (callee.is === "function") return [callee];
    if (callee.is === "other" && callee.children.length === 1 && callee.children[0])
      return this.functions(callee.children[0], seen);
    return (this.meaning(callee)?.values ?? []).flatMap((value) => this.functions(value, seen));
  }
}

/** The names that a pattern gives a value. */
export function namesIn(target: Code): Name[] {
  if (target.is === "name") return [target];
  if (target.is === "member" || target.is === "index" || target.is === "call") return [];
  if (target.is === "pair") return namesIn(target.value);
  return (target.is === "bind" ? target.targets : target.children).flatMap(namesIn);
}

interface Sources {
  /** `own` for code of the repository, `library` for code that may keep what it gets: a page that it shows. */
  kindOf(code: Of<"import">): string;
  /** Whether a name that the file does not declare is of the repository. */
  isFreeOwn(name: string): boolean;
  /** Whether a parameter that a runner fills by its name has its value from the repository. */
  isFilledOwn(name: string): boolean;
  /** Whether a name is a runner's or an assertion's, which no value of the repository becomes. */
  isRunner(root: Name): boolean;
}

export class Flow {
  readonly #names: Names;
  readonly #sources: Sources;
  readonly #all: readonly Code[];
  readonly #own = new Set<Meaning>();
  /** What own code got: it may call its functions. */
  readonly #given = new Set<Meaning>();
  /** Libraries that got own values. */
  readonly #filled = new Set<string | null>();
  #passed = 0;
  #known = new Map<Code, boolean>();

  constructor(names: Names, sources: Sources) {
    this.#names = names;
    this.#sources = sources;
    this.#all = everything(names.root);
    for (let size = -1; size !== this.#size(); ) {
      size = this.#size();
      this.#known = new Map();
      for (const code of this.#all) this.#spread(code);
    }
    this.#known = new Map();
  }

  #size = () => this.#own.size + this.#given.size + this.#filled.size + this.#passed;

  #spread(code: Code): void {
    if (code.is === "call") this.#spreadCall(code);
    if (code.is === "class") this.#spreadClass(code);
    if (code.is === "bind") {
      const isOwn =
        code.how === "parameter"
          ? this.#isParameterOwn(code)
          : (code.value !== null && this.isOwn(code.value)) || this.dependsOnOwn(code);
      if (isOwn) for (const target of code.targets) this.#taint(target);
    }
    // `with redirect_stdout(out):` fills `out`.
    if (
      code.is === "other" &&
      code.kind === "with_statement" &&
      code.children.slice(1).some((one) => this.isOwn(one))
    )
      for (const child of code.children.slice(0, 1)) this.#hand(child);
  }

  /** A class that extends one of the repository, or whose methods return what it made. */
  #spreadClass(code: Of<"class">): void {
    const meaning = code.name === null ? null : this.#names.lookup(code.name, code);
    const isOwn =
      code.children.slice(0, -1).some((one) => this.isOwn(one)) ||
      everything(code).some((one) => one.is === "function" && this.#hasOwnResult(one));
    if (meaning && isOwn) this.#own.add(meaning);
  }

  /** A name gets a value; if a member of something does, the something changes. */
  #taint(target: Code): void {
    const add = (meaning: Meaning | null) => {
      if (meaning && !meaning.imported) this.#own.add(meaning);
    };
    const meaning = this.#names.meaning(target);
    if (meaning) add(meaning);
    else if (target.is === "member" || target.is === "index") this.#taint(target.object);
    else for (const one of namesIn(target)) add(this.#names.of(one));
  }

  #spreadCall(code: Call): void {
    const root = rootOf(code.callee);
    if (root && this.#sources.isRunner(root)) return;
    for (const one of this.#names.functions(code.callee)) this.#pass(code, one);
    const takesOwn = code.args.some((arg) => this.isOwn(arg));
    const library = root && this.#names.of(root)?.imported?.by;
    if (library && takesOwn && this.#sources.kindOf(library) === "library")
      this.#filled.add(library.specifier);
    if (this.isOwnCall(code)) for (const arg of code.args) this.#hand(arg);
    const changes = takesOwn || (code.args.length > 0 && this.dependsOnOwn(code));
    if (changes && code.callee.is === "member") this.#taint(code.callee.object);
  }

  /** The arguments become values of the parameters. */
  #pass({ args }: Call, { params }: Function): void {
    const positional = params.filter((one) => !/^(?:self|cls)\b/.test(one.text));
    for (const [at, arg] of args.entries()) {
      const param = positional[Math.min(at, positional.length - 1)];
      for (const target of param ? namesIn(param) : []) {
        const meaning = this.#names.of(target);
        if (!meaning || meaning.values.includes(arg)) continue;
        meaning.values.push(arg);
        this.#passed += 1;
      }
    }
  }

  /** Own code gets what the expression names, and may change it. */
  #hand(code: Code): void {
    if (code.is === "function") return;
    const meaning = this.#names.meaning(code);
    if (meaning && !meaning.imported) {
      this.#given.add(meaning);
      const isFixed = meaning.values.length > 0 && meaning.values.every(isPrimitive);
      if (!isFixed && !meaning.values.every(({ is }) => is === "function" || is === "class"))
        this.#own.add(meaning);
    }
    for (const child of code.children) this.#hand(child);
  }

  #isParameterOwn(code: Bind): boolean {
    if (code.value !== null && this.isOwn(code.value)) return true;
    const meaning = code.targets.flatMap(namesIn).map((one) => this.#names.of(one))[0];
    if (meaning?.values.some((value) => this.isOwn(value))) return true;
    const owner = around(code).find(({ is }) => is === "function" || is === "block");
    // What a `catch` catches.
    if (owner?.is === "block") return owner.parent?.is === "try" && this.isOwn(owner.parent.body);
    if (owner?.is !== "function") return false;
    return (
      this.isCalledByOwn(owner) ||
      this.#isCallbackOfOwn(owner) ||
      (!!meaning && this.#isFixtureOwn(meaning, owner))
    );
  }

  /** `it.each(table)(name, callback)` has its values from the table, `list.map(callback)` from the list. */
  #isCallbackOfOwn(owner: Function): boolean {
    const call = owner.parent;
    if (call?.is !== "call" || !call.args.includes(owner)) return false;
    const root = rootOf(call.callee);
    const isRunner = root !== null && this.#sources.isRunner(root);
    const givers = [...call.args.filter((one) => one !== owner), ...(isRunner ? [] : [call.callee])];
    if (call.callee.is === "call") givers.push(...call.callee.args);
    return givers.some((one) => this.isOwn(one));
  }

  /** A fixture of pytest: of a table, of this file, or of a `conftest.py` of the repository. */
  #isFixtureOwn({ name }: Meaning, owner: Function): boolean {
    const isFilled =
      /^test|^setup/.test(owner.name ?? "") || owner.decorators.some(({ text }) => /fixture/.test(text));
    if (!isFilled || /^(?:self|cls)$/.test(name)) return false;
    const table = owner.decorators.find(
      ({ text }) => /parametrize/.test(text) && new RegExp(`["',\\s]${name}["',\\s]`).test(text),
    );
    if (table) return this.isOwn(table);
    const fixtures =
      this.#names.lookup(name, this.#names.root)?.values.flatMap((one) => this.#names.functions(one)) ?? [];
    if (fixtures.length > 0) return fixtures.some((one) => this.#hasOwnResult(one));
    return this.#sources.isFilledOwn(name);
  }

  /** Whether own code may call a function: it got it, or something that holds it. */
  isCalledByOwn(code: Function): boolean {
    for (let at: Code = code, up = code.parent; up; [at, up] = [up, up.parent]) {
      const named =
        (at.is === "function" || at.is === "class") && at.name ? this.#names.lookup(at.name, at) : null;
      if (named && this.#given.has(named) && named.values.includes(at)) return true;
      if (up.is === "call" && up.args.includes(at) && this.isOwnCall(up)) return true;
      if (up.is === "bind" && up.value === at) return up.targets.some((target) => this.#isGiven(target));
      if (up.is === "function" || up.is === "end" || (up.is === "block" && up.parent?.is !== "class"))
        return false;
    }
    return false;
  }

  #isGiven(target: Code): boolean {
    const meaning = this.#names.meaning(target) ?? namesIn(target).map((one) => this.#names.of(one))[0];
    if (meaning) return this.#given.has(meaning);
    return target.is === "member" && this.isOwn(target.object);
  }

  /** Whether it calls code of the repository, or a method of a value of it. An assertion does not. */
  isOwnCall({ callee }: Call): boolean {
    const root = rootOf(callee);
    if (root && this.#sources.isRunner(root)) return false;
    return this.#isForeign(callee) && this.isOwn(callee);
  }

  /** Whether a callee may be something else than functions of the test. */
  #isForeign = (callee: Code): boolean =>
    this.#names.functions(callee).length === 0 ||
    (this.#names.meaning(callee)?.values.some((one) => one.is !== "function" && this.isOwn(one)) ?? false);

  /** Whether a value depends on what the repository's code does. For a function of the test: whether its result does, if it is called. */
  isOwn(code: Code): boolean {
    const known = this.#known.get(code);
    if (known !== undefined) return known;
    this.#known.set(code, false);
    const isOwn = this.#find(code);
    this.#known.set(code, isOwn);
    return isOwn;
  }

  #find(code: Code): boolean {
    switch (code.is) {
      case "name":
        return this.#isOwnName(code);
      case "member": {
        const meaning = this.#names.ofMember(code);
        return meaning ? this.#own.has(meaning) : this.isOwn(code.object);
      }
      case "call":
        if (this.#names.functions(code.callee).some((one) => this.#hasOwnResult(one))) return true;
        return this.#isForeign(code.callee) && [code.callee, ...code.args].some((one) => this.isOwn(one));
      case "last":
        return code.children.slice(-1).some((one) => this.isOwn(one));
      case "operator":
        return code.operator === "in" && code.children.some((one) => this.isOwn(one));
      case "branch":
        return !isFixed(code) && code.children.some((one) => this.isOwn(one));
      case "import":
        return code.isCalled && this.#sources.kindOf(code) === "own";
      default:
        return code.children.some((one) => this.isOwn(one));
    }
  }

  #isOwnName(code: Name): boolean {
    const meaning = this.#names.of(code);
    if (!meaning) return this.#sources.isFreeOwn(code.name);
    if (!meaning.imported) return this.#own.has(meaning);
    const { by } = meaning.imported;
    const kind = this.#sources.kindOf(by);
    return kind === "own" || (kind === "library" && this.#filled.has(by.specifier));
  }

  #hasOwnResult(code: Function): boolean {
    const body = code.children.at(-1);
    if (body?.is !== "block") return body !== undefined && this.isOwn(body);
    const isResult = (one: Code) =>
      (one.is === "end" && one.how === "return") || (one.is === "other" && /yield/.test(one.kind));
    return everything(body).some(
      (one) =>
        isResult(one) &&
        one.children.length > 0 &&
        around(one).find(({ is }) => is === "function") === code &&
        (one.children.some((child) => this.isOwn(child)) || this.dependsOnOwn(one, code)),
    );
  }

  /** Whether running it, or what it calls of the test, calls code of the repository: it may throw. */
  runsOwn(code: Code, seen = new Set<Code>()): boolean {
    if (seen.has(code)) return false;
    seen.add(code);
    return everything(code).some(
      (one) =>
        one.is === "call" &&
        (this.isOwnCall(one) ||
          this.#names.functions(one.callee).some((called) => this.runsOwn(called, seen))),
    );
  }

  /** Whether a statement runs only if, or because, own code did something: `if (own()) ...`, `if (own()) return; ...`. */
  dependsOnOwn(code: Code, until?: Code): boolean {
    for (let at: Code = code, up = code.parent; up && at !== until; [at, up] = [up, up.parent]) {
      if (up.is === "branch" && up.conditions.some((one) => one !== at && this.isOwn(one))) return true;
      if (up.is === "try" && this.isOwn(up.body)) return true;
      if (
        up.is === "block" &&
        up.children.slice(0, up.children.indexOf(at)).some((one) => this.#mayEndByOwn(one))
      )
        return true;
      if (at.is === "function" && this.isCalledByOwn(at)) return true;
    }
    return false;
  }

  #mayEndByOwn = (code: Code): boolean =>
    code.is === "branch" &&
    code.conditions.some((one) => this.isOwn(one)) &&
    everything(code).some(({ is }) => is === "end");

  /** Whether the test calls a function, or passes it on, beside its own place. */
  isUsed(meaning: Meaning): boolean {
    return this.#all.some(
      (code) =>
        (code.is === "name" || code.is === "member") &&
        this.#names.meaning(code) === meaning &&
        !(
          code.parent?.is === "bind" &&
          meaning.places.includes(code.parent) &&
          code.parent.targets.includes(code)
        ) &&
        !meaning.values.some((value) => around(code).includes(value)),
    );
  }
}

/** `x || true`, `x && false`: the value is fixed, or as good as fixed. */
function isFixed({ how, children }: Of<"branch">): boolean {
  const last = children.at(-1);
  if ((how !== "and" && how !== "or") || !last || !isPrimitive(last)) return false;
  return /^(?:false|False|null|None|0|undefined|""|'')$/.test(last.text) === (how === "and");
}

/** A text, a number or a word of the language: nothing can change it. */
export const isPrimitive = (code: Code): boolean =>
  (code.is === "text" && code.value !== null) ||
  (code.is === "name" && /^(?:NaN|Infinity|nil|true|false|iota)$/.test(code.name)) ||
  (code.is === "other" &&
    (/^(?:number|integer|float|true|false|null|undefined|none|nil|(?:int|float|rune)_literal)$/i.test(
      code.kind,
    ) ||
      (/^(?:unary|binary|expression_list$)/.test(code.kind) &&
        code.children.length > 0 &&
        code.children.every(isPrimitive))));
