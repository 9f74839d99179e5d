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
  named: {
    class_definition: "class",
  },
  definitions: {
    function_definition: functionOrMethod,
    type_alias_statement: (node) => [
      { kind: "type", name: textOf(node.field("left")), body: node.field("right") },
    ],
    assignment,
  },
  wrappers: ["decorated_definition"],
  groups: ["expression_statement"],
  attributes: [],
  lineComment: /^#/,
  isExported: ({ name }) => !name.startsWith("_") || /^__\w+__$/.test(name),
  assignmentDeclares: true,
  identifiers: ["identifier"],
  slots: {
    "call.function": "call",
    "decorator.#0": "call",
    "attribute.attribute": "member",
    "parenthesized_expression.#0": "through",
    "function_definition.name": "definition",
    "parameters>identifier": "definition",
    "lambda_parameters>identifier": "definition",
    "typed_parameter.#0": "definition",
    "list_splat_pattern.#0": "definition",
    "dictionary_splat_pattern.#0": "definition",
    "as_pattern_target.#0": "definition",
    "default_parameter.name": "write",
    "typed_default_parameter.name": "write",
    "keyword_argument.name": "key",
    "assignment.left": "write",
    "augmented_assignment.left": "write",
    "named_expression.name": "write",
    "for_statement.left": "definition",
    "for_in_clause.left": "definition",
    "pattern_list.*": "through",
    "tuple_pattern.*": "through",
    "list_pattern.*": "through",
    "global_statement.*": "read",
    "dotted_name.*": "through",
    "aliased_import.*": "import",
    "import_statement.*": "import",
    "import_from_statement.*": "import",
    "relative_import.*": "import",
    "type.#0": "type",
    "generic_type.#0": "type",
    "member_type.*": "type",
    "union_type.*": "type",
    "type_parameter.*": "type",
  },
};
