import type { FirstContext } from "./context.ts";
import { goKinds, walkGo } from "./go.ts";
import { javascriptKinds, walkJavascript } from "./javascript.ts";
import { pythonKinds, walkPython } from "./python.ts";
import type { Reduced } from "./reduced-tree.ts";

interface Walk {
  kinds: readonly string[];
  walk(tree: Reduced, context: FirstContext): void;
}

const javascript: Walk = { kinds: javascriptKinds, walk: walkJavascript };

/** Languages whose scopes are known, by the dialect of their grammar. */
export const walks: Readonly<Record<string, Walk>> = {
  JavaScript: javascript,
  TypeScript: javascript,
  Tsx: javascript,
  python: { kinds: pythonKinds, walk: walkPython },
  go: { kinds: goKinds, walk: walkGo },
};
