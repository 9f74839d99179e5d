import { type Finder, firstOfKind, type Shape, textOf } from "../shape.ts";
import type { DefinitionKind } from "../source.ts";

const fields =
  (kind: DefinitionKind): Finder =>
  (node) =>
    node.fieldChildren("declarator").map((one) => {
      const isFinal = /\bfinal\b/.test(textOf(firstOfKind(node, ["modifiers"])));
      const name = textOf(one.field("name"));
      return {
        kind: isFinal && /^[A-Z0-9_]+$/.test(name) ? "constant" : kind,
        name,
        body: one.field("value"),
      };
    });

export const java: Shape = {
  named: {
    class_declaration: "class",
    record_declaration: "class",
    interface_declaration: "interface",
    annotation_type_declaration: "interface",
    enum_declaration: "type",
    method_declaration: "method",
    annotation_type_element_declaration: "method",
    constructor_declaration: "method",
    compact_constructor_declaration: "method",
    enum_constant: "constant",
  },
  definitions: {
    field_declaration: fields("field"),
    constant_declaration: fields("constant"),
  },
  wrappers: [],
  groups: [],
  attributes: [],
  lineComment: /^\/\//,
  isExported: ({ head, inInterface }) => inInterface || /\b(public|protected)\b/.test(head),
  identifiers: ["identifier", "type_identifier"],
  slots: {
    "method_invocation.name": "method",
    "object_creation_expression.type": "call",
    "marker_annotation.name": "type",
    "annotation.name": "type",
    "generic_type.#0": "through",
    "field_access.field": "member",
    "scoped_identifier.name": "member",
    "scoped_identifier.scope": "path",
    "scoped_type_identifier.#last": "member",
    "method_reference.#last": "call",
    "variable_declarator.name": "definition",
    "formal_parameter.name": "definition",
    "catch_formal_parameter.name": "definition",
    "enhanced_for_statement.name": "definition",
    "resource.name": "definition",
    "inferred_parameters.*": "definition",
    "lambda_expression.parameters": "definition",
    "type_pattern>identifier": "definition",
    "type_parameter>type_identifier": "definition",
    "assignment_expression.left": "write",
    "update_expression.#0": "write",
    "element_value_pair.key": "key",
    "import_declaration.*": "import",
    "package_declaration.*": "import",
  },
};
