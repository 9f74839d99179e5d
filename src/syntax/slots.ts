import type { SgNode } from "@ast-grep/napi";
import type { Shape, Slot } from "./shape.ts";

interface Entry {
  /** A field's name, `#0`, `#last`, `*`, or `>` and a kind. */
  where: string;
  slot: Slot;
}

/** The slots of a language by the kind of the node around. */
export type SlotTable = ReadonlyMap<string, readonly Entry[]>;

const tables = new WeakMap<Shape, SlotTable>();

export function slotTableOf(shape: Shape): SlotTable {
  const known = tables.get(shape);
  if (known) return known;
  const table = new Map<string, Entry[]>();
  for (const [key, slot] of Object.entries(shape.slots)) {
    const at = key.search(/[.>]/);
    const where = key[at] === ">" ? key.slice(at) : key.slice(at + 1);
    const entries = table.get(key.slice(0, at)) ?? [];
    entries.push({ where, slot });
    table.set(key.slice(0, at), entries);
  }
  tables.set(shape, table);
  return table;
}

/** Levels that a name can be handed through. */
const maximumLevels = 40;

/** A node and the way up from it. */
export interface Step {
  node: SgNode;
  around(): Step | null;
}

/** Asks the tree for the way up, which counts through all that lies in front of the node: for single nodes. */
export function stepAt(node: SgNode): Step {
  const around = () => {
    const parent = node.parent();
    return parent && stepAt(parent);
  };
  return { node, around };
}

/** What a name is to the code around it. */
export interface Place {
  slot: Exclude<Slot, "through" | "member">;
  /** Whether it is a name that belongs to an object. */
  isMember: boolean;
  /** The largest node that this name stands for: `a.b` for the `b` in it. */
  step: Step;
}

export function placeOf(name: Step, table: SlotTable): Place {
  let [step, isMember] = [name, false];
  for (let level = 0; level < maximumLevels; level++) {
    const around = step.around();
    const slot = around && slotIn(around.node, step.node, table);
    if (!slot) break;
    if (slot === "method" && isWritten(around, table)) return { slot: "write", isMember: true, step: around };
    if (slot !== "through" && slot !== "member") return { slot, isMember, step };
    if (slot === "member") isMember = true;
    step = around;
  }
  return { slot: /type_identifier$/.test(String(name.node.kind())) ? "type" : "read", isMember, step };
}

/** `object.name = value` is the call of a method in some grammars. */
function isWritten(call: Step, table: SlotTable): boolean {
  const around = call.around();
  return around !== null && slotIn(around.node, call.node, table) === "write";
}

function slotIn(around: SgNode, node: SgNode, table: SlotTable): Slot | null {
  const entries = table.get(String(around.kind()));
  return entries?.find(({ where }) => isAt(around, node, where))?.slot ?? null;
}

function isAt(around: SgNode, node: SgNode, where: string): boolean {
  if (where === "*") return true;
  if (where.startsWith(">")) return node.kind() === where.slice(1);
  const id = node.id();
  if (where.startsWith("#")) return childAt(around, where)?.id() === id;
  // Of a field that several nodes have, this is the first: tables name such nodes by their kind, or looking for one among
  // thousands would be done for each of them.
  return around.field(where)?.id() === id;
}

function childAt(node: SgNode, where: string): SgNode | null {
  const children = node.namedChildren();
  return (where === "#0" ? children[0] : children.at(-1)) ?? null;
}

/** Kinds of nodes that call something. */
export const callKinds = (table: SlotTable): string[] =>
  [...table].filter(([, entries]) => entries.some(({ slot }) => isCall(slot))).map(([kind]) => kind);

const isCall = (slot: Slot) => slot === "call" || slot === "method";

/** The name that a call calls, and where the text of its receiver begins. */
export function calleeOf(call: SgNode, table: SlotTable): { name: SgNode; start: number } | null {
  const entry = table.get(String(call.kind()))?.find(({ slot }) => isCall(slot));
  let node = entry ? childIn(call, entry.where) : null;
  if (!entry || !node) return null;
  const start = (entry.slot === "method" ? call : node).range().start.index;
  for (let level = 0; level < maximumLevels; level++) {
    const inner = innerOf(node, table);
    if (!inner) break;
    node = inner;
  }
  return { name: node, start };
}

function innerOf(node: SgNode, table: SlotTable): SgNode | null {
  const entries = table.get(String(node.kind())) ?? [];
  for (const { where, slot } of entries) {
    const inner = (slot === "through" || slot === "member") && where !== "*" ? childIn(node, where) : null;
    if (inner) return inner;
  }
  return null;
}

function childIn(node: SgNode, where: string): SgNode | null {
  if (where.startsWith("#")) return childAt(node, where);
  if (where.startsWith(">")) return node.children().find((child) => child.kind() === where.slice(1)) ?? null;
  return node.field(where);
}
