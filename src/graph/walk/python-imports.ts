import type { Context } from "./context.ts";
import type { Reduced } from "./reduced-tree.ts";
import type { Scope } from "./scope.ts";

const bare = (text: string) =>
  text
    .replace(/#[^\n]*/g, " ")
    .replace(/[()\\]/g, " ")
    .replace(/\s+/g, " ")
    .trim();

/** `import a.b`, `import a.b as c`, `from a import b as c`, `from a import *`. */
export function importsOf(node: Reduced, scope: Scope, { text, notes }: Context): void {
  const statement = bare(text(node));
  const line = node.line;
  const given = /^from (\.*[\p{L}\p{N}_.]*) ?import (.+)$/u.exec(statement);
  const names = (given?.[2] ?? statement.replace(/^import /, "")).split(",").map((one) => one.trim());
  for (const one of names.filter(Boolean)) {
    const [there = "", here] = one.split(" as ").map((word) => word.trim());
    if (given) {
      const local = here ?? there;
      notes.importIn(scope, { specifier: given[1] ?? "", imported: there, local, line, again: false });
    } else if (here !== undefined) {
      notes.importIn(scope, { specifier: there, imported: "*", local: here, line, again: false });
    } else {
      // `import a.b` gives `a`, and `a.b` is reached through it.
      const top = there.split(".")[0] ?? there;
      notes.importIn(scope, { specifier: top, imported: "*", local: top, line, again: false });
      if (top !== there)
        notes.importIn(scope, { specifier: there, imported: "", local: "", line, again: false });
    }
  }
}
