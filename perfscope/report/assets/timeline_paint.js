// What a timeline is painted with: the colors of the style sheet and the patterns of the page.
const timelinePaint = (data, bar, ratio) => {
  "use strict";

  function palette() {
    const style = getComputedStyle(document.documentElement);
    const color = name => style.getPropertyValue(`--${name}`).trim();
    const fills = data.accounts.map(({ role, shade }) => {
      const plain = color(shade);
      const source = document.getElementById(`p-${role}`);
      return { pixel: pixel(plain), texture: source?.querySelector("path") ? textureOf(source, plain) : null };
    });
    return { fills, textured, shares, ink: color("ink"), card: color("card"), track: pixel(color("track")), grid: color("line") };
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

  // A bar in columns of so many pixels, each color as high as its share of the bins there, from the
  // bottom up; `place` tells the bin at a pixel.
  function shares(pixels, own, place, wide) {
    const counts = new Uint32Array(timelineWords.NOBODY + 1);
    pixels.fill(found.track);
    for (let x = 0; x < bar.width; x += wide) {
      const right = Math.min(x + wide, bar.width), first = place(x), last = Math.max(place(right), first + 1);
      counts.fill(0);
      for (let at = first; at < last; at += 1) counts[own[at]] += 1;
      let below = 0;
      for (const account of data.stacked) {
        if (!counts[account]) continue;
        const bottom = Math.round(bar.height * (1 - below / (last - first)));
        below += counts[account];
        const top = Math.round(bar.height * (1 - below / (last - first)));
        for (let y = top; y < bottom; y += 1) {
          pixels.fill(found.fills[account].pixel, y * bar.width + x, y * bar.width + right);
        }
        textured(pixels, account, x, right, top, bottom);
      }
    }
  }

  // The pattern of an account over its color, where it has one.
  function textured(pixels, account, begin, behind, top, bottom) {
    const { texture } = found.fills[account];
    if (!texture) return;
    for (let y = top; y < bottom; y += 1) {
      for (let at = y * bar.width + begin, stop = y * bar.width + behind; at < stop; at += 1) pixels[at] = texture[at];
    }
  }

  const found = palette();
  return found;
};
