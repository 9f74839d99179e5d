import { type Finder, named, type Shape, textOf } from "../shape.ts";

const implementation: Finder = (node) => {
  const name = textOf(node.field("type")).replace(/<.*$/, "");
  return [{ kind: "extension", name, body: node.field("body") }];
};

const run: Finder = (node) => {
  const around = node.parent();
  const isMember =
    around?.kind() === "declaration_list" &&
    ["impl_item", "trait_item"].includes(String(around.parent()?.kind()));
  return named(isMember ? "method" : "function")(node);
};

export const rust: Shape = {
  named: {
    class: "struct_item union_item",
    type: "enum_item associated_type",
    constant: "enum_variant",
    interface: "trait_item",
    macro: "macro_definition",
  },
  definitions: {
    function_item: run,
    function_signature_item: run,
    impl_item: implementation,
    type_item: named("type", "type"),
    const_item: named("constant", "value"),
    static_item: named("variable", "value"),
    mod_item: (node) => (node.field("body") ? named("module")(node) : []),
    field_declaration: named("field", "type"),
  },
  attributes: ["attribute_item"],
  isExported: ({ head, inInterface }) => inInterface || /\bpub\b|#\[macro_export\]|^\s*impl\b/.test(head),
  identifiers: ["identifier", "field_identifier", "type_identifier", "shorthand_field_identifier"],
  slots: {
    call: "call_expression.function macro_invocation.macro struct_expression.name",
    member: "field_expression.field scoped_identifier.name scoped_type_identifier.name",
    through: `
      generic_function.function parenthesized_expression.#0 mut_pattern.* ref_pattern.* tuple_pattern.*
      struct_pattern.* tuple_struct_pattern.* field_pattern.pattern`,
    path: "scoped_identifier.path",
    definition: `
      function_item.name function_signature_item.name type_item.name const_item.name static_item.name
      mod_item.name field_declaration.name parameter.pattern closure_parameters.* let_declaration.pattern
      for_expression.pattern match_pattern.#0`,
    write: "assignment_expression.left compound_assignment_expr.left",
    key: "field_initializer.field",
    shorthand: "shorthand_field_initializer.#0",
    read: "tuple_struct_pattern.type field_pattern.name",
    type: "generic_type.type",
    import: `
      use_declaration.* scoped_use_list.* use_list.* use_as_clause.* use_wildcard.* extern_crate_declaration.*`,
  },
  tokenTree: "token_tree",
};
