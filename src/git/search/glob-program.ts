const SLASH = 47;

/** One sign of a name: takes a byte or not. */
export type Sign = (byte: number) => boolean;

/** A piece of a glob: a sign, one of the runs below, or several ways to go on. */
export type GlobToken = Sign | "star" | "prefix" | "suffix" | "between" | { branches: GlobToken[][] };

/** A place where a match may stand: it takes a byte to go on, or goes on by itself. */
type State = { takes: Sign; to: number } | { to: number[] };

const isSlash: Sign = (byte) => byte === SLASH;
const isAny: Sign = () => true;
export const isNoSlash: Sign = (byte) => byte !== SLASH;

/**
 * Whether paths are what a glob describes, from beginning to end. All ways through the glob are gone at once, so that no
 * pattern takes more steps than the product of both lengths.
 */
export class GlobProgram {
  readonly #states: State[] = [];
  readonly #end: number;
  readonly #start: number;
  /** For each state the step at which it was entered last. */
  readonly #entered: number[];
  #step = 0;

  constructor(tokens: readonly GlobToken[]) {
    this.#end = this.#add({ to: [] });
    this.#start = this.#sequence(tokens, this.#end);
    this.#entered = this.#states.map(() => 0);
  }

  matches(name: Buffer): boolean {
    let current = this.#enter([this.#start]);
    for (const byte of name) {
      const behind: number[] = [];
      for (const at of current) {
        const state = this.#states[at];
        if (state && "takes" in state && state.takes(byte)) behind.push(state.to);
      }
      if (behind.length === 0) return false;
      current = this.#enter(behind);
    }
    return current.includes(this.#end);
  }

  /** These states and those to which they go on by themselves, each once. */
  #enter(first: readonly number[]): number[] {
    this.#step += 1;
    const entered: number[] = [];
    const waiting = [...first];
    for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
      if (this.#entered[at] === this.#step) continue;
      this.#entered[at] = this.#step;
      entered.push(at);
      const state = this.#states[at];
      if (state && !("takes" in state)) waiting.push(...state.to);
    }
    return entered;
  }

  #add(state: State): number {
    return this.#states.push(state) - 1;
  }

  #sequence(tokens: readonly GlobToken[], next: number): number {
    return tokens.reduceRight<number>((behind, token) => this.#token(token, behind), next);
  }

  #token(token: GlobToken, next: number): number {
    if (typeof token === "function") return this.#add({ takes: token, to: next });
    if (typeof token === "object")
      return this.#add({ to: token.branches.map((branch) => this.#sequence(branch, next)) });
    const slash = this.#add({ takes: isSlash, to: next });
    switch (token) {
      case "star":
        return this.#run(isNoSlash, next);
      case "prefix":
        return this.#add({ to: [next, slash, this.#run(isAny, slash)] });
      case "suffix":
        return this.#add({ takes: isSlash, to: this.#run(isAny, next) });
      case "between":
        return this.#add({ takes: isSlash, to: this.#add({ to: [next, this.#run(isAny, slash)] }) });
    }
  }

  /** Any number of such bytes, and then what follows. */
  #run(takes: Sign, next: number): number {
    const loop: State = { to: [next] };
    const start = this.#add(loop);
    loop.to.push(this.#add({ takes, to: start }));
    return start;
  }
}
