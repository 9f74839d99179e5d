import { type Finder, named, type Shape, textOf } from "../shape.ts";

const fields: Finder = (node) => {
  const isConstant = /\b(const|static readonly)\b/.test(textOf(node).slice(0, 100));
  const list = node.children().find((child) => child.kind() === "variable_declaration");
  const all = list?.children().filter((child) => child.kind() === "variable_declarator") ?? [];
  return all.map((one) => ({ kind: isConstant ? "constant" : "field", name: textOf(one.field("name")) }));
};

export const csharp: Shape = {
  definitions: {
    namespace_declaration: named("module"),
    class_declaration: named("class"),
    struct_declaration: named("class"),
    record_declaration: named("class"),
    interface_declaration: named("interface"),
    enum_declaration: named("type"),
    enum_member_declaration: named("constant", "value"),
    delegate_declaration: named("type"),
    method_declaration: named("method"),
    constructor_declaration: named("method"),
    destructor_declaration: named("method"),
    local_function_statement: named("function"),
    property_declaration: named("field", "accessors", "value"),
    event_declaration: named("field"),
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
    "class_declaration.name": "definition",
    "struct_declaration.name": "definition",
    "record_declaration.name": "definition",
    "interface_declaration.name": "definition",
    "enum_declaration.name": "definition",
    "enum_member_declaration.name": "definition",
    "delegate_declaration.name": "definition",
    "method_declaration.name": "definition",
    "constructor_declaration.name": "definition",
    "local_function_statement.name": "definition",
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
    "namespace_declaration.name": "definition",
  },
  imports: {
    using_directive: (node) => [
      textOf(node)
        .replace(/^(global\s+)?using\s+(static\s+)?([\w.]+\s*=\s*)?/, "")
        .replace(/;$/, "")
        .trimEnd(),
    ],
  },
};
