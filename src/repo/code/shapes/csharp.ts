import { type Finder, named, type Shape, textOf } from "../shape.ts";

const fields: Finder = (node) => {
  const isConstant = /\b(const|static readonly)\b/.test(textOf(node).slice(0, 100));
  const list = node.children().find((child) => child.kind() === "variable_declaration");
  const all = list?.children().filter((child) => child.kind() === "variable_declarator") ?? [];
  return all.map((one) => ({ kind: isConstant ? "constant" : "field", name: textOf(one.field("name")) }));
};

export const csharp: Shape = {
  named: {
    module: "namespace_declaration",
    class: "class_declaration struct_declaration record_declaration",
    interface: "interface_declaration",
    type: "enum_declaration delegate_declaration",
    method: "method_declaration constructor_declaration destructor_declaration",
    function: "local_function_statement",
    field: "event_declaration",
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
  isExported: ({ head, inInterface }) =>
    inInterface || /\b(public|protected|internal|namespace)\b/.test(head),
  identifiers: ["identifier"],
  slots: {
    call: "invocation_expression.function object_creation_expression.type",
    member: "member_access_expression.name member_binding_expression.name qualified_name.name",
    through: "generic_name.#0 conditional_access_expression.#last parenthesized_expression.#0",
    path: "qualified_name.*",
    definition: `
      enum_member_declaration.name property_declaration.name variable_declarator.name foreach_statement.left
      catch_declaration.name declaration_expression.name type_parameter.name`,
    parameter: "parameter.name",
    write: "assignment_expression.left with_initializer.#0 postfix_unary_expression.#0",
    key: "argument.name",
    type: `
      attribute.name parameter.type variable_declaration.type property_declaration.type
      method_declaration.returns type_argument_list.* base_list.* cast_expression.type`,
    import: "using_directive.*",
  },
};
