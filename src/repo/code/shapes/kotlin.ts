import type { SgNode } from "@ast-grep/napi";
import { type Finder, firstOfKind, isInside, isUpperCase, type Shape, textOf } from "../shape.ts";
import type { DefinitionKind } from "../source.ts";

const bodies = ["class_body", "enum_class_body", "function_body"];
const nameOf = (node: SgNode) => textOf(firstOfKind(node, ["simple_identifier", "type_identifier"]));
const bodyOf = (node: SgNode) => firstOfKind(node, bodies);

const isMember = (node: SgNode) => isInside(node, [], ["class_body", "enum_class_body"]);

const type: Finder = (node) => {
  const words = node.children().map((child) => String(child.kind()));
  const kind = words.includes("interface") ? "interface" : words.includes("enum") ? "type" : "class";
  return [{ kind, name: nameOf(node), body: bodyOf(node) }];
};

const run: Finder = (node) => [
  { kind: isMember(node) ? "method" : "function", name: nameOf(node), body: bodyOf(node) },
];

const property: Finder = (node) => {
  const member = isMember(node);
  if (!member && !isInside(node, [], ["source_file"])) return [];
  const name = nameOf(firstOfKind(node, ["variable_declaration"]) ?? node);
  const isConstant = isUpperCase(name) || /\bconst\b/.test(textOf(firstOfKind(node, ["modifiers"])));
  const kind: DefinitionKind = isConstant ? "constant" : member ? "field" : "variable";
  const value = node.children().findIndex((child) => child.kind() === "=");
  return name ? [{ kind, name, body: node.children()[value + 1] ?? null }] : [];
};

export const kotlin: Shape = {
  named: {},
  definitions: {
    class_declaration: type,
    object_declaration: (node) => [{ kind: "class", name: nameOf(node), body: bodyOf(node) }],
    companion_object: (node) => [{ kind: "class", name: nameOf(node) || "Companion", body: bodyOf(node) }],
    function_declaration: run,
    secondary_constructor: (node) => [
      { kind: "method", name: "constructor", body: firstOfKind(node, ["statements", "{"]) },
    ],
    property_declaration: property,
    class_parameter: (node) =>
      firstOfKind(node, ["binding_pattern_kind"]) ? [{ kind: "field", name: nameOf(node) }] : [],
    type_alias: (node) => [{ kind: "type", name: nameOf(node) }],
    enum_entry: (node) => [{ kind: "constant", name: nameOf(node), body: bodyOf(node) }],
  },
  isExported: ({ head }) => !/\b(private|internal)\b/.test(head),
  identifiers: ["simple_identifier", "type_identifier"],
  slots: {
    call: "call_expression.#0 constructor_invocation.#0",
    member: "navigation_suffix.#last",
    through: `
      navigation_expression.#last parenthesized_expression.#0 user_type.#last
      directly_assignable_expression.#last identifier.*`,
    definition: `
      class_declaration>type_identifier object_declaration>type_identifier type_alias>type_identifier
      function_declaration>simple_identifier variable_declaration>simple_identifier
      enum_entry>simple_identifier`,
    parameter: "class_parameter>simple_identifier parameter>simple_identifier",
    write: "assignment.#0 postfix_expression.#0",
    // A name before a value is a keyword; a value without one is read.
    keyword: "value_argument>simple_identifier",
    import: "import_header.* package_header.*",
  },
};
