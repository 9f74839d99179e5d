import type { CallSite } from "./graph.ts";
import type { Head, ReferenceAt } from "./head.ts";

/** Places that were found, one a line, each as sure as the surest of its calls. */
export class Sites {
  readonly #least: number;
  readonly #head: Head;
  readonly #sites = new Map<string, CallSite>();

  constructor(least: number, head: Head) {
    this.#least = least;
    this.#head = head;
  }

  add(references: readonly ReferenceAt[], certaintyOf: (reference: ReferenceAt) => number): void {
    for (const reference of references) {
      const certainty = certaintyOf(reference);
      const key = `${reference.path}\0${reference.line}`;
      if (certainty >= this.#least && (this.#sites.get(key)?.certainty ?? 0) < certainty)
        this.#sites.set(key, this.#siteOf(reference, certainty));
    }
  }

  /** Surest first. */
  all(): CallSite[] {
    return [...this.#sites.values()].sort(
      (a, b) =>
        b.certainty - a.certainty || (a.path < b.path ? -1 : Number(a.path > b.path)) || a.line - b.line,
    );
  }

  #siteOf({ path, line, within }: ReferenceAt, certainty: number): CallSite {
    const around = within === null ? undefined : this.#head.definitionsIn(path)[within];
    return {
      ...{ path, line, certainty },
      within: around
        ? { name: around.name, container: around.container, startLine: around.start, endLine: around.end }
        : null,
    };
  }
}
