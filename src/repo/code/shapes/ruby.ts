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
  named: { class: "class", module: "module" },
  definitions: { method, singleton_method: method, assignment: constant, call },
  heads: { call: "^(attr_\\w+|describe|context|it|specify|test|scenario|feature|RSpec\\.describe)\\b" },
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
    method: "call.method",
    member: "scope_resolution.name",
    through: "left_assignment_list.*",
    definition: `
      method.name singleton_method.name method_parameters>identifier block_parameters>identifier
      splat_parameter.name hash_splat_parameter.name block_parameter.name exception_variable.#0`,
    write: "optional_parameter.name keyword_parameter.name assignment.left operator_assignment.left",
    key: "pair.key",
    type: "superclass.#0",
  },
};
