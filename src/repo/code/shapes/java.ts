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
    class: "class_declaration record_declaration",
    interface: "interface_declaration annotation_type_declaration",
    type: "enum_declaration",
    method:
      "method_declaration annotation_type_element_declaration constructor_declaration compact_constructor_declaration",
    constant: "enum_constant",
  },
  definitions: { field_declaration: fields("field"), constant_declaration: fields("constant") },
  isExported: ({ head, inInterface }) => inInterface || /\b(public|protected)\b/.test(head),
  identifiers: ["identifier", "type_identifier"],
  slots: {
    call: "object_creation_expression.type method_reference.#last",
    method: "method_invocation.name",
    member: "field_access.field scoped_identifier.name scoped_type_identifier.#last",
    through: "generic_type.#0",
    path: "scoped_identifier.scope",
    definition: `
      variable_declarator.name formal_parameter.name catch_formal_parameter.name enhanced_for_statement.name
      resource.name inferred_parameters.* lambda_expression.parameters type_pattern>identifier
      type_parameter>type_identifier`,
    write: "assignment_expression.left update_expression.#0",
    key: "element_value_pair.key",
    type: "marker_annotation.name annotation.name",
    import: "import_declaration.* package_declaration.*",
  },
};
