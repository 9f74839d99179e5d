import { type Finder, named, type Shape, stringText, textOf } from "../shape.ts";

const method: Finder = (node) => {
  const outer = node.parent()?.parent()?.kind();
  const inClass = ["class", "module", "singleton_class"].includes(String(outer));
  return named(inClass || node.kind() === "singleton_method" ? "method" : "function")(node);
};

const constant: Finder = (node) => {
  const left = node.field("left");
  return left?.kind() === "constant"
    ? [{ kind: "constant", name: left.text(), body: node.field("right") }]
    : [];
};

/** `it "…" do`, and attributes: `attr_reader :name`. */
const call: Finder = (node) => {
  const name = textOf(node.field("method"));
  const given = node.field("arguments")?.namedChildren().slice(0, 50) ?? [];
  if (name.startsWith("attr_"))
    return given
      .filter((one) => one.kind() === "simple_symbol")
      .map((one) => ({ kind: "field" as const, name: one.text().slice(1) }));
  const block = node.field("block");
  const title = stringText(given[0]);
  return block && title ? [{ kind: "test", name: title, body: block }] : [];
};

export const ruby: Shape = {
  named: {
    class: "class",
    module: "module",
  },
  definitions: {
    method,
    singleton_method: method,
    assignment: constant,
    call,
  },
  heads: { call: "^(attr_\\w+|describe|context|it|specify|test|scenario|feature|RSpec\\.describe)\\b" },
  wrappers: [],
  groups: [],
  attributes: [],
  lineComment: /^#/,
  isExported: ({ name }) => !name.startsWith("_"),
  assignmentDeclares: true,
  identifiers: [
    "identifier",
    "constant",
    "instance_variable",
    "class_variable",
    "global_variable",
    "hash_key_symbol",
  ],
  slots: {
    "call.method": "method",
    "scope_resolution.name": "member",
    "method.name": "definition",
    "singleton_method.name": "definition",
    "method_parameters>identifier": "definition",
    "block_parameters>identifier": "definition",
    "optional_parameter.name": "write",
    "keyword_parameter.name": "write",
    "splat_parameter.name": "definition",
    "hash_splat_parameter.name": "definition",
    "block_parameter.name": "definition",
    "assignment.left": "write",
    "operator_assignment.left": "write",
    "left_assignment_list.*": "through",
    "pair.key": "key",
    "exception_variable.#0": "definition",
    "superclass.#0": "type",
  },
};
