import { around, type Code, everything, rootOf, type Syntax } from "./test-code.ts";

type Of<Is extends Code["is"]> = Extract<Code, { is: Is }>;
export type Call = Of<"call">;
export type Name = Of<"name">;

/** A name in its scope. */
export interface Meaning {
  name: string;
  /** What it stands for at some time, each with the place that says so. */
  values: Code[];
  places: Code[];
  imported: { by: Of<"import">; name: string } | null;
  /** The function whose parameter it is. */
  parameterOf: Of<"function"> | null;
}

/** Which names mean the same, and what a name may stand for. Code that runs earlier or later is not told apart. */
export class Names {
  readonly root: Code;
  readonly #scopes = new Map<Code, Map<string, Meaning>>();
  readonly #outer = new Map<Code, Set<string>>();
  readonly #syntax: Syntax;
  readonly #meanings = new Map<Code, Meaning | null>();

  constructor(root: Code, syntax: Syntax) {
    this.root = root;
    this.#syntax = syntax;
    const isPython = !syntax.scopes.has("block");
    for (const code of everything(root))
      if (code.is === "outer") this.#outer.set(this.#scopeOf(code), new Set(code.names));
    for (const code of everything(root)) this.#declare(code, isPython);
    // What is assigned to a name that another place declares.
    for (const code of everything(root)) {
      if (code.is !== "bind" || (code.how !== "assign" && code.how !== "update")) continue;
      for (const target of code.targets) {
        const member = target.is === "member" ? this.ofMember(target, true) : null;
        const meanings = member ? [member] : namesIn(target).map((one) => this.of(one));
        for (const meaning of meanings) if (meaning) this.#give(meaning, code.value, code);
      }
    }
  }

  #declare(code: Code, isPython: boolean): void {
    switch (code.is) {
      case "bind": {
        const declares = code.how !== "update" && (isPython || code.how !== "assign");
        if (!declares) return;
        const scope = this.#scopeOf(code);
        for (const target of code.targets)
          for (const { name } of namesIn(target)) {
            if (this.#outer.get(scope)?.has(name)) continue;
            const meaning = this.#in(scope, name);
            if (!isPython || code.how !== "assign") this.#give(meaning, code.value, code);
            if (code.how === "parameter" && scope.is === "function") meaning.parameterOf ??= scope;
            if (scope.is === "class") this.#give(this.#in(this.root, `self.${name}`), code.value, code);
          }
        return;
      }
      case "function":
      case "class": {
        if (!code.name) return;
        const scope = this.#scopeOf(code);
        this.#give(this.#in(scope, code.name), code, code);
        if (scope.is === "class") this.#give(this.#in(this.root, `self.${code.name}`), code, code);
        return;
      }
      case "pair": {
        if (code.name && this.#scopeOf(code).is === "class" && code.parent?.parent?.is === "class")
          this.#give(this.#in(this.root, `self.${code.name}`), code.value, code);
        return;
      }
      case "import": {
        for (const { local, name } of code.names) {
          const scope = this.#scopeOf(code);
          const [first = local] = local.split(".");
          this.#in(scope, first).imported = { by: code, name };
        }
        return;
      }
      default:
    }
  }

  #scopeOf(code: Code): Code {
    for (const one of around(code)) if (this.#syntax.scopes.has(one.is)) return one;
    return this.root;
  }

  #in(scope: Code, name: string): Meaning {
    const names = this.#scopes.get(scope) ?? new Map<string, Meaning>();
    this.#scopes.set(scope, names);
    const meaning: Meaning = names.get(name) ?? {
      name,
      values: [],
      places: [],
      imported: null,
      parameterOf: null,
    };
    names.set(name, meaning);
    return meaning;
  }

  #give(meaning: Meaning, value: Code | null, place: Code): void {
    if (value) meaning.values.push(value);
    meaning.places.push(place);
  }

  /** Null for a name that no place of the file declares. */
  of(code: Name): Meaning | null {
    const known = this.#meanings.get(code);
    if (known !== undefined) return known;
    let found: Meaning | null = null;
    for (const one of [...around(code), this.root]) {
      // The methods of a class do not see its names.
      if (one.is === "class" && code.parent !== one && this.#isBehindFunction(code, one)) continue;
      found = this.#scopes.get(one)?.get(code.name) ?? null;
      if (found) break;
    }
    this.#meanings.set(code, found);
    return found;
  }

  #isBehindFunction(code: Code, scope: Code): boolean {
    for (const one of around(code)) {
      if (one === scope) return false;
      if (one.is === "function") return true;
    }
    return false;
  }

  /** `this.x`, `self.x`: one meaning in the whole file. */
  ofMember(code: Of<"member">, makes = false): Meaning | null {
    if (code.object.is !== "name" || !/^(?:this|self|cls)$/.test(code.object.name)) return null;
    const name = `self.${code.name}`;
    return makes ? this.#in(this.root, name) : (this.#scopes.get(this.root)?.get(name) ?? null);
  }

  /** The meaning of a name or of an own member. */
  meaning(code: Code): Meaning | null {
    if (code.is === "name") return this.of(code);
    return code.is === "member" ? this.ofMember(code) : null;
  }

  /** The functions of this file that a callee may be. */
  functions(callee: Code, seen = new Set<Code>()): Of<"function">[] {
    if (seen.has(callee)) return [];
    seen.add(callee);
    if (callee.is === "function") return [callee];
    if (callee.is === "other" && callee.children.length === 1 && callee.children[0])
      return this.functions(callee.children[0], seen);
    return (this.meaning(callee)?.values ?? []).flatMap((value) => this.functions(value, seen));
  }
}

/** The names that a pattern gives a value; of a member, the name that it begins with. */
export function namesIn(target: Code): Name[] {
  switch (target.is) {
    case "name":
      return [target];
    case "member":
    case "index":
    case "call":
      return [];
    case "bind":
      return target.targets.flatMap(namesIn);
    case "pair":
      return namesIn(target.value);
    default:
      return target.children.flatMap(namesIn);
  }
}

export interface Sources {
  /** Whether an import brings code of the repository. */
  isOwn(code: Of<"import">): boolean;
  /** Whether a name that the file does not declare is of the repository. */
  isFreeOwn(name: string): boolean;
  /** Whether a parameter that a runner fills has its value from the repository. */
  isOwnParameter(meaning: Meaning, flow: Flow): boolean;
  /** Whether an import brings a library, which may keep what it gets: a page that it shows. */
  isLibrary(code: Of<"import">): boolean;
  /** Whether a name is a runner's or an assertion's, which no value of the repository becomes. */
  isRunner(root: Name): boolean;
}

/**
 * What depends on what the repository's code does: its values, what is made of them, what it got and may have changed, and what is
 * assigned only if, or because, it ran in some way.
 */
export class Flow {
  readonly names: Names;
  readonly #sources: Sources;
  readonly #own = new Set<Meaning>();
  /** What own code got: it may call its functions. */
  readonly #given = new Set<Meaning>();
  /** Libraries that got own values. */
  readonly #filled = new Set<string | null>();
  #known = new Map<Code, boolean>();
  #knownResults = new Map<Code, boolean>();
  readonly #all: readonly Code[];

  constructor(names: Names, sources: Sources) {
    this.names = names;
    this.#sources = sources;
    this.#all = [...everything(names.root)];
    for (let size = -1; size !== this.#size(); ) {
      size = this.#size();
      this.#known = new Map();
      this.#knownResults = new Map();
      for (const code of this.#all) this.#spread(code);
    }
    this.#known = new Map();
    this.#knownResults = new Map();
  }

  #passed = 0;
  #size = () => this.#own.size + this.#given.size + this.#filled.size + this.#passed;

  #spread(code: Code): void {
    if (code.is === "bind") {
      const isOwn = (code.value !== null && this.isOwn(code.value)) || this.dependsOnOwn(code);
      if (isOwn && code.how !== "parameter") for (const target of code.targets) this.#taintTarget(target);
      if (code.how === "parameter" && this.#isParameterOwn(code))
        for (const target of code.targets) this.#taintTarget(target);
    }
    if (code.is === "call") this.#spreadCall(code);
    // `with redirect_stdout(out):` fills `out`.
    if (
      code.is === "other" &&
      code.kind === "with_statement" &&
      code.children.slice(1).some((one) => this.isOwn(one))
    )
      for (const child of code.children.slice(0, 1)) this.#hand(child);
  }

  #taintTarget(target: Code): void {
    const meaning = this.names.meaning(target);
    if (meaning) this.#taint(meaning);
    else if (target.is === "member" || target.is === "index") this.#taintRoot(target);
    else for (const one of namesIn(target)) this.#taint(this.names.of(one));
  }

  #taint(meaning: Meaning | null): void {
    if (meaning && !meaning.imported) this.#own.add(meaning);
  }

  /** A member of something changes: the something does. */
  #taintRoot(code: Code): void {
    for (let at: Code = code; at.is === "member" || at.is === "index"; at = at.object) {
      const meaning =
        this.names.meaning(at.is === "member" ? at : at.object) ?? this.names.meaning(at.object);
      if (meaning) this.#taint(meaning);
    }
  }

  #spreadCall(code: Call): void {
    const root = rootOf(code.callee);
    if (root && this.#sources.isRunner(root)) return;
    for (const one of this.names.functions(code.callee)) this.#pass(code, one);
    const library = root && this.names.of(root)?.imported?.by;
    if (library && this.#sources.isLibrary(library) && code.args.some((arg) => this.isOwn(arg)))
      this.#filled.add(library.specifier);
    const isOwn = this.isOwnCall(code);
    if (isOwn) for (const arg of code.args) this.#hand(arg);
    const changes =
      code.args.some((arg) => this.isOwn(arg)) || (code.args.length > 0 && this.dependsOnOwn(code));
    if (changes && code.callee.is === "member") this.#taintRoot(code.callee);
  }

  /** The arguments become values of the parameters. */
  #pass({ args }: Call, { params }: Of<"function">): void {
    const positional = params.filter((one) => !/^(?:self|cls)\b/.test(one.text));
    for (const [at, arg] of args.entries()) {
      const param = positional[Math.min(at, positional.length - 1)];
      if (param?.is !== "bind") continue;
      for (const target of param.targets.flatMap(namesIn)) {
        const meaning = this.names.of(target);
        if (!meaning || meaning.values.includes(arg)) continue;
        meaning.values.push(arg);
        this.#passed += 1;
      }
    }
  }

  /** Own code gets what the expression names, and may change it. */
  #hand(code: Code): void {
    if (code.is === "function") return;
    const meaning = this.names.meaning(code);
    if (meaning && !meaning.imported) {
      this.#given.add(meaning);
      const isFixed = meaning.values.length > 0 && meaning.values.every(isPrimitive);
      if (!isFixed && !meaning.values.every(({ is }) => is === "function" || is === "class"))
        this.#own.add(meaning);
    }
    for (const child of code.children) this.#hand(child);
  }

  #isParameterOwn(code: Of<"bind">): boolean {
    const owner = around(code).find((one) => one.is === "function");
    const meaning = code.targets.flatMap(namesIn).map((one) => this.names.of(one))[0];
    if (!meaning) return code.value !== null && this.isOwn(code.value);
    if (meaning.values.some((value) => this.isOwn(value))) return true;
    if (!owner) {
      // What a `catch` catches.
      const block = code.parent;
      const tried = block?.parent;
      return tried?.is === "try" && this.isOwn(tried.body);
    }
    const block = around(code).find((one) => one.is === "block" || one.is === "function");
    if (block?.is === "block" && block.parent?.is === "try") return this.isOwn(block.parent.body);
    if (owner.is !== "function") return false;
    if (this.isCalledByOwn(owner)) return true;
    const call = owner.parent;
    if (call?.is === "call" && call.args.includes(owner)) {
      const root = rootOf(call.callee);
      const isRunner = root !== null && this.#sources.isRunner(root);
      const others = call.args.filter((one) => one !== owner && one.is !== "function");
      // `it.each(table)(name, callback)` has its values from the table.
      if (isRunner) return call.callee.is === "call" && call.callee.args.some((one) => this.isOwn(one));
      if (this.isOwn(call.callee) || others.some((one) => this.isOwn(one))) return true;
    }
    return this.#sources.isOwnParameter(meaning, this);
  }

  /** Whether own code may call a function: it got it, or something that holds it. */
  isCalledByOwn(code: Of<"function">): boolean {
    for (let at: Code = code, up = code.parent; up; [at, up] = [up, up.parent]) {
      if (at.is === "function" || at.is === "class") {
        const meaning = at.name
          ? this.names.of({ is: "name", name: at.name, line: 0, text: "", parent: at.parent, children: [] })
          : null;
        if (meaning && this.#given.has(meaning) && meaning.values.includes(at)) return true;
      }
      if (up.is === "call" && up.args.includes(at)) {
        if (this.isOwnCall(up)) return true;
      } else if (up.is === "bind" && up.value === at) {
        return up.targets.some((target) => {
          const meaning = this.names.meaning(target) ?? namesIn(target).map((one) => this.names.of(one))[0];
          if (meaning) return this.#given.has(meaning);
          return target.is === "member" && this.isOwn(target.object);
        });
      } else if (up.is === "function" || up.is === "end") return false;
      else if (up.is === "block" && up.parent?.is !== "class") return false;
    }
    return false;
  }

  /** Whether it calls code of the repository, or a method of a value of it. An assertion does not. */
  isOwnCall({ callee }: Call): boolean {
    const root = rootOf(callee);
    if (root && this.#sources.isRunner(root)) return false;
    if (this.names.functions(callee).length > 0 && !this.#isMixed(callee)) return false;
    return this.isOwn(callee);
  }

  #isMixed = (callee: Code): boolean =>
    this.names.meaning(callee)?.values.some((one) => one.is !== "function" && this.isOwn(one)) ?? false;

  /** Whether a value depends on what the repository's code does. */
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
        return this.isOwnName(code);
      case "member": {
        const meaning = this.names.ofMember(code);
        return meaning ? this.#own.has(meaning) : this.isOwn(code.object);
      }
      case "call": {
        const functions = this.names.functions(code.callee);
        if (functions.length > 0 && functions.some((one) => this.#hasOwnResult(one))) return true;
        if (functions.length > 0 && !this.#isMixed(code.callee)) return false;
        return this.isOwn(code.callee) || code.args.some((arg) => this.isOwn(arg));
      }
      case "last":
        return code.children.slice(-1).some((one) => this.isOwn(one));
      case "operator":
        return code.operator === "in" && code.children.some((one) => this.isOwn(one));
      case "branch": {
        const last = code.children.at(-1);
        // `x || true`, `x && false`: the value is fixed, or as good as fixed.
        if ((code.how === "and" || code.how === "or") && last && isPrimitive(last)) {
          const isFalse = /^(?:false|False|null|None|0|undefined|""|'')$/.test(last.text);
          if (isFalse === (code.how === "and")) return false;
        }
        return code.children.some((one) => this.isOwn(one));
      }
      case "import":
        return code.isCalled && this.#sources.isOwn(code);
      default:
        return code.children.some((one) => this.isOwn(one));
    }
  }

  isOwnName(code: Name): boolean {
    const meaning = this.names.of(code);
    if (!meaning) return this.#sources.isFreeOwn(code.name);
    if (!meaning.imported) return this.#own.has(meaning);
    const { by } = meaning.imported;
    return this.#sources.isOwn(by) || (this.#sources.isLibrary(by) && this.#filled.has(by.specifier));
  }

  /** Whether the result of a function of the test depends on own code. */
  #hasOwnResult(code: Of<"function">): boolean {
    const known = this.#knownResults.get(code);
    if (known !== undefined) return known;
    this.#knownResults.set(code, false);
    const body = code.children.at(-1);
    const isOwn =
      body !== undefined &&
      (body.is === "block"
        ? everything(body).some(
            (one) =>
              isResult(one) &&
              around(one).find(({ is }) => is === "function") === code &&
              one.children.length > 0 &&
              (one.children.some((child) => this.isOwn(child)) || this.dependsOnOwn(one, code)),
          )
        : this.isOwn(body));
    this.#knownResults.set(code, isOwn);
    return isOwn;
  }

  /** Whether a statement runs only if, or because, own code did something. */
  dependsOnOwn(code: Code, until?: Code): boolean {
    for (let at: Code = code, up = code.parent; up && at !== until; [at, up] = [up, up.parent]) {
      if (up.is === "branch" && up.conditions.some((one) => one !== at && this.isOwn(one))) return true;
      if (up.is === "try" && this.isOwn(up.body)) return true;
      if (at.is === "function" && this.isCalledByOwn(at)) return true;
    }
    return false;
  }

  /** The names of a function that the test calls or passes on, beside its own place. */
  isUsed(meaning: Meaning): boolean {
    return this.#all.some(
      (code) =>
        (code.is === "name" || code.is === "member") &&
        this.names.meaning(code) === meaning &&
        !meaning.places.some(
          (place) => place === code.parent && place.is === "bind" && place.targets.includes(code),
        ) &&
        !meaning.values.some((value) => [...around(code)].includes(value)),
    );
  }
}

const isResult = (code: Code) =>
  (code.is === "end" && code.how === "return") || (code.is === "other" && /yield/.test(code.kind));

/** A text, a number or a word of the language: nothing can change it. */
export const isPrimitive = (code: Code): boolean =>
  (code.is === "text" && code.value !== null) ||
  (code.is === "name" && /^(?:NaN|Infinity|nil|true|false|iota)$/.test(code.name)) ||
  (code.is === "other" &&
    (/^(?:number|integer|float|true|false|null|undefined|none|True|False|None|nil|int_literal|float_literal|rune_literal)$/.test(
      code.kind,
    ) ||
      (/^(?:unary|binary|expression_list$)/.test(code.kind) &&
        code.children.length > 0 &&
        code.children.every(isPrimitive))));
