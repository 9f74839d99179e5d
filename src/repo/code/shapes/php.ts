import { type Finder, firstOfKind, type Shape, textOf } from "../shape.ts";

const constants: Finder = (node) =>
  node
    .children()
    .filter((child) => child.kind() === "const_element")
    .map((one) => ({ kind: "constant", name: textOf(firstOfKind(one, ["name"])) }));

const properties: Finder = (node) =>
  node
    .children()
    .filter((child) => child.kind() === "property_element")
    .map((one) => ({ kind: "field", name: textOf(one.field("name")).replace(/^\$/, "") }));

const assigned: Finder = (node) => {
  const [left, right] = [node.field("left"), node.field("right")];
  const isFunction = ["anonymous_function", "arrow_function"].includes(String(right?.kind()));
  if (left?.kind() !== "variable_name" || !right || !isFunction) return [];
  return [{ kind: "function", name: left.text().slice(1), body: right.field("body") }];
};

export const php: Shape = {
  named: {
    function_definition: "function",
    method_declaration: "method",
    class_declaration: "class",
    interface_declaration: "interface",
    trait_declaration: "class",
    enum_declaration: "type",
    enum_case: "constant",
  },
  definitions: {
    const_declaration: constants,
    property_declaration: properties,
    assignment_expression: assigned,
  },
  wrappers: [],
  groups: ["expression_statement"],
  attributes: [],
  lineComment: /^(\/\/|#(?!\[))/,
  isExported: ({ head, inInterface }) => inInterface || !/\b(private|protected)\b/.test(head),
  assignmentDeclares: true,
  identifiers: ["name"],
  slots: {
    "function_call_expression.function": "call",
    "member_call_expression.name": "method",
    "nullsafe_member_call_expression.name": "method",
    "scoped_call_expression.name": "method",
    "object_creation_expression.#0": "call",
    "member_access_expression.name": "member",
    "nullsafe_member_access_expression.name": "member",
    "scoped_property_access_expression.name": "member",
    "class_constant_access_expression.#last": "member",
    "variable_name.#0": "through",
    "qualified_name.#last": "member",
    "qualified_name.*": "path",
    "const_element.#0": "definition",
    "property_element.name": "definition",
    "simple_parameter.name": "parameter",
    "property_promotion_parameter.name": "parameter",
    "variadic_parameter.name": "definition",
    "catch_clause.name": "definition",
    "assignment_expression.left": "write",
    "augmented_assignment_expression.left": "write",
    "update_expression.argument": "write",
    "argument.name": "key",
    "named_type.*": "type",
    "base_clause.*": "type",
    "class_interface_clause.*": "type",
    "use_declaration.*": "type",
    "attribute.#0": "type",
    "namespace_name.*": "through",
    "namespace_use_clause.*": "import",
    "namespace_definition.*": "import",
  },
};
