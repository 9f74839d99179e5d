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
    function: "function_definition",
    method: "method_declaration",
    class: "class_declaration trait_declaration",
    interface: "interface_declaration",
    type: "enum_declaration",
    constant: "enum_case",
  },
  definitions: {
    const_declaration: constants,
    property_declaration: properties,
    assignment_expression: assigned,
  },
  groups: ["expression_statement"],
  lineComment: /^(\/\/|#(?!\[))/,
  isExported: ({ head, inInterface }) => inInterface || !/\b(private|protected)\b/.test(head),
  assignmentDeclares: true,
  identifiers: ["name"],
  slots: {
    call: "function_call_expression.function object_creation_expression.#0",
    method: "member_call_expression.name nullsafe_member_call_expression.name scoped_call_expression.name",
    member: `
      member_access_expression.name nullsafe_member_access_expression.name
      scoped_property_access_expression.name class_constant_access_expression.#last qualified_name.#last`,
    through: "variable_name.#0 namespace_name.*",
    path: "qualified_name.*",
    definition: "const_element.#0 property_element.name variadic_parameter.name catch_clause.name",
    parameter: "simple_parameter.name property_promotion_parameter.name",
    write: "assignment_expression.left augmented_assignment_expression.left update_expression.argument",
    key: "argument.name",
    type: "named_type.* base_clause.* class_interface_clause.* use_declaration.* attribute.#0",
    import: "namespace_use_clause.* namespace_definition.*",
  },
};
