import { type Finder, isInside, isUpperCase, named, type Shape, textOf } from "../shape.ts";

const passing =
  "expression_statement block if_statement else_clause elif_clause try_statement except_clause with_statement assignment".split(
    " ",
  );

const assignment: Finder = (node, isLocal) => {
  if (isLocal) return [];
  const left = node.field("left");
  if (left?.kind() !== "identifier") return [];
  if (!isInside(node, passing, ["module", "class_definition"])) return [];
  const name = left.text();
  const inClass = isInside(node, passing, ["class_definition"]);
  const right = node.field("right");
  if (right?.kind() === "lambda")
    return [{ kind: inClass ? "method" : "function", name, body: right.field("body") }];
  return [{ kind: inClass ? "field" : isUpperCase(name) ? "constant" : "variable", name, body: right }];
};

const functionOrMethod: Finder = (node, isLocal) => {
  const inClass = !isLocal && isInside(node, ["decorated_definition", ...passing], ["class_definition"]);
  return named(inClass ? "method" : "function")(node);
};

export const python: Shape = {
  named: { class: "class_definition" },
  definitions: {
    function_definition: functionOrMethod,
    type_alias_statement: (node) => [
      { kind: "type", name: textOf(node.field("left")), body: node.field("right") },
    ],
    assignment,
  },
  wrappers: ["decorated_definition"],
  groups: ["expression_statement"],
  lineComment: /^#/,
  isExported: ({ name }) => !name.startsWith("_") || /^__\w+__$/.test(name),
  assignmentDeclares: true,
  identifiers: ["identifier"],
  slots: {
    call: "call.function decorator.#0",
    member: "attribute.attribute",
    through: "parenthesized_expression.#0 pattern_list.* tuple_pattern.* list_pattern.* dotted_name.*",
    definition: `
      function_definition.name parameters>identifier lambda_parameters>identifier typed_parameter.#0
      list_splat_pattern.#0 dictionary_splat_pattern.#0 as_pattern_target.#0 for_statement.left
      for_in_clause.left`,
    write: `
      default_parameter.name typed_default_parameter.name assignment.left augmented_assignment.left
      named_expression.name`,
    key: "keyword_argument.name",
    read: "global_statement.*",
    type: "type.#0 generic_type.#0 member_type.* union_type.* type_parameter.*",
    import: "aliased_import.* import_statement.* import_from_statement.* relative_import.*",
  },
};
