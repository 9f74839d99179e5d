import { type Finder, named, type Shape, textOf } from "../shape.ts";

const fields: Finder = (node) => {
  const isConstant = /\b(const|static readonly)\b/.test(textOf(node).slice(0, 100));
  const list = node.children().find((child) => child.kind() === "variable_declaration");
  const all = list?.children().filter((child) => child.kind() === "variable_declarator") ?? [];
  return all.map((one) => ({ kind: isConstant ? "constant" : "field", name: textOf(one.field("name")) }));
};

export const csharp: Shape = {
  named: {
    namespace_declaration: "module",
    class_declaration: "class",
    struct_declaration: "class",
    record_declaration: "class",
    interface_declaration: "interface",
    enum_declaration: "type",
    delegate_declaration: "type",
    method_declaration: "method",
    constructor_declaration: "method",
    destructor_declaration: "method",
    local_function_statement: "function",
    event_declaration: "field",
  },
  definitions: {
    enum_member_declaration: named("constant", "value"),
    property_declaration: named("field", "accessors", "value"),
    field_declaration: fields,
    event_field_declaration: fields,
    indexer_declaration: (node) => [{ kind: "method", name: "this", body: node.field("accessors") }],
    operator_declaration: (node) => [
      { kind: "method", name: `operator ${textOf(node.field("operator"))}`, body: node.field("body") },
    ],
  },
  wrappers: [],
  groups: [],
  attributes: [],
  lineComment: /^\/\//,
  isExported: ({ head, inInterface }) =>
    inInterface || /\b(public|protected|internal|namespace)\b/.test(head),
  identifiers: ["identifier"],
  slots: {
    "invocation_expression.function": "call",
    "object_creation_expression.type": "call",
    "attribute.name": "type",
    "generic_name.#0": "through",
    "member_access_expression.name": "member",
    "member_binding_expression.name": "member",
    "conditional_access_expression.#last": "through",
    "qualified_name.name": "member",
    "qualified_name.*": "path",
    "parenthesized_expression.#0": "through",
    "enum_member_declaration.name": "definition",
    "property_declaration.name": "definition",
    "variable_declarator.name": "definition",
    "foreach_statement.left": "definition",
    "catch_declaration.name": "definition",
    "declaration_expression.name": "definition",
    "parameter.name": "parameter",
    "parameter.type": "type",
    "type_parameter.name": "definition",
    "variable_declaration.type": "type",
    "property_declaration.type": "type",
    "method_declaration.returns": "type",
    "type_argument_list.*": "type",
    "base_list.*": "type",
    "cast_expression.type": "type",
    "assignment_expression.left": "write",
    "argument.name": "key",
    "with_initializer.#0": "write",
    "postfix_unary_expression.#0": "write",
    "using_directive.*": "import",
  },
};
