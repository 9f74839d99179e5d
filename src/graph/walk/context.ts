import type { Reduced } from "./reduced-tree.ts";
import type { Notes, Scope } from "./scope.ts";

/** What a walk carries with it. */
export interface Context {
  source: string;
  notes: Notes;
  text(node: Reduced): string;
  /** The class that the code is a part of. */
  owner: string | null;
  /** Python: what a method calls its own object, and whether the code stands in a class but in none of its methods. */
  self?: string;
  isClassBody?: boolean;
  /** What the function around answers, as far as it was seen. */
  answers?: string[];
  /** What the class around extends, and where that name is looked up. */
  parent?: { node: Reduced; scope: Scope };
  /** Goes on with the nodes below, whichever file of the language knows them. */
  walkAll(nodes: readonly Reduced[], scope: Scope, context: Context): void;
}

/** What is known before a language's walk begins. */
export type FirstContext = Omit<Context, "walkAll">;

export function createContext(source: string, notes: Notes): FirstContext {
  return { source, notes, text: (node) => source.slice(node.from, node.to), owner: null };
}

/** Whether a value is all that is given: nothing but brackets and `await` stands around it. */
export function isWhole(node: Reduced, value: Reduced, { source }: Context): boolean {
  const before = source.slice(Math.max(node.from, value.from - 40), value.from);
  const behind = source.slice(value.to, Math.min(node.to, value.to + 40));
  return /(?:=>?|:=|return|^)\s*(?:await\s+|\(\s*)*$/.test(before) && /^[\s)!;,]*$/.test(behind);
}

export const childrenAfter = (node: Reduced, child: Reduced): Reduced[] =>
  node.children.filter(({ from }) => from >= child.to);

/** What a member belongs to where no name stands in front of it: a string, a number or a list written there is nobody's own. */
export const literalType = ({ from }: Reduced, { source }: Context): string =>
  /^(?:[rbfuRBFU]{0,2}["'`]|[[{\d])/.test(source.slice(from, from + 3)) ? ":builtin" : "?";
