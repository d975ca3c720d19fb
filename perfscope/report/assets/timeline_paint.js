// What a timeline is painted with: the colors of the style sheet and the patterns of the page.
const timelinePaint = (data, bar, ratio) => {
  "use strict";

  function palette() {
    const style = getComputedStyle(document.documentElement);
    const color = name => style.getPropertyValue(`--${name}`).trim();
    const fills = data.accounts.map(({ role }) => {
      const plain = color(role);
      const source = document.getElementById(`p-${role}`);
      return { pixel: pixel(plain), texture: source ? textureOf(source, plain) : null };
    });
    return { fills, ink: color("ink"), card: color("card"), track: pixel(color("track")), grid: color("line") };
  }

  // A color of the style sheet (#rrggbb) as the four bytes of a pixel.
  function pixel(color) {
    const value = parseInt(color.slice(1), 16);
    return new Uint32Array(Uint8Array.of(value >> 16, value >> 8, value, 255).buffer)[0];
  }

  // The page's own pattern of an account, as the pixels of a whole bar.
  function textureOf(source, plain) {
    const size = Number(source.getAttribute("width"));
    const mark = source.querySelector("path");
    const style = getComputedStyle(mark);
    const tile = document.createElement("canvas");
    tile.width = tile.height = Math.round(size * ratio * 2);
    const inside = tile.getContext("2d");
    inside.scale(tile.width / size, tile.width / size);
    inside.fillStyle = plain;
    inside.fillRect(0, 0, size, size);
    inside.globalAlpha = Number(style.fillOpacity);
    inside.fillStyle = style.fill;
    inside.fill(new Path2D(mark.getAttribute("d")));
    const turn = /rotate\((-?\d+)/.exec(source.getAttribute("patternTransform") ?? "");
    const whole = document.createElement("canvas");
    whole.width = bar.width;
    whole.height = bar.height;
    const surface = whole.getContext("2d");
    const pattern = surface.createPattern(tile, "repeat");
    const matrix = new DOMMatrix().rotate(turn ? Number(turn[1]) : 0);
    pattern.setTransform(matrix.scale(ratio * size / tile.width));
    surface.fillStyle = pattern;
    surface.fillRect(0, 0, bar.width, bar.height);
    return new Uint32Array(surface.getImageData(0, 0, bar.width, bar.height).data.buffer);
  }

  return palette();
};
