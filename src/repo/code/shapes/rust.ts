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
    struct_item: "class",
    union_item: "class",
    enum_item: "type",
    enum_variant: "constant",
    trait_item: "interface",
    associated_type: "type",
    macro_definition: "macro",
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
  wrappers: [],
  groups: [],
  attributes: ["attribute_item"],
  lineComment: /^\/\//,
  isExported: ({ head, inInterface }) => inInterface || /\bpub\b|#\[macro_export\]|^\s*impl\b/.test(head),
  identifiers: ["identifier", "field_identifier", "type_identifier", "shorthand_field_identifier"],
  slots: {
    "call_expression.function": "call",
    "macro_invocation.macro": "call",
    "generic_function.function": "through",
    "field_expression.field": "member",
    "scoped_identifier.name": "member",
    "scoped_identifier.path": "path",
    "scoped_type_identifier.name": "member",
    "parenthesized_expression.#0": "through",
    "function_item.name": "definition",
    "function_signature_item.name": "definition",
    "type_item.name": "definition",
    "const_item.name": "definition",
    "static_item.name": "definition",
    "mod_item.name": "definition",
    "field_declaration.name": "definition",
    "parameter.pattern": "definition",
    "closure_parameters.*": "definition",
    "let_declaration.pattern": "definition",
    "for_expression.pattern": "definition",
    "mut_pattern.*": "through",
    "ref_pattern.*": "through",
    "tuple_pattern.*": "through",
    "struct_pattern.*": "through",
    "tuple_struct_pattern.type": "read",
    "tuple_struct_pattern.*": "through",
    "field_pattern.name": "read",
    "field_pattern.pattern": "through",
    "match_pattern.#0": "definition",
    "assignment_expression.left": "write",
    "compound_assignment_expr.left": "write",
    "field_initializer.field": "key",
    "shorthand_field_initializer.#0": "shorthand",
    "use_declaration.*": "import",
    "scoped_use_list.*": "import",
    "use_list.*": "import",
    "use_as_clause.*": "import",
    "use_wildcard.*": "import",
    "extern_crate_declaration.*": "import",
    "generic_type.type": "type",
    "struct_expression.name": "call",
  },
  tokenTree: "token_tree",
};
