import Foundation

extension Browser {
    /// A picture (PNG) of what is visible, small enough for a document: it has at most 256 colours.
    ///
    /// Chromium writes 24 bits a pixel, three times as much. So the browser itself encodes its picture again.
    func picture() throws -> Data {
        let full = try command("GET", "/screenshot")
        let text = try runAndWait(Self.encoding, full) as? String ?? ""
        return Data(base64Encoded: text) ?? Data()
    }

    /// From a PNG to one with a palette, both in Base64.
    private static let encoding = """
        const bytes = Uint8Array.from(atob(arguments[0]), (one) => one.charCodeAt(0));
        const image = await createImageBitmap(new Blob([bytes], { type: "image/png" }));
        const { width, height } = image;
        const pen = new OffscreenCanvas(width, height).getContext("2d", { willReadFrequently: true });
        pen.drawImage(image, 0, 0);
        const { data } = pen.getImageData(0, 0, width, height);
        // The most frequent colours that differ, and for each pixel the nearest of them.
        const counts = new Map();
        const color = (index) => (data[4 * index] << 16) | (data[4 * index + 1] << 8) | data[4 * index + 2];
        for (let index = 0; index < width * height; index += 1) {
          counts.set(color(index), (counts.get(color(index)) ?? 0) + 1);
        }
        const palette = [];
        const part = (one, shift) => (one >> shift) & 255;
        const distance = (a, b) => [16, 8, 0].reduce((sum, shift) => sum + Math.abs(part(a, shift) - part(b, shift)), 0);
        const sorted = [...counts.keys()].sort((a, b) => counts.get(b) - counts.get(a));
        for (const least of [24, 0]) {
          for (const one of sorted) if (palette.length < 256 && palette.every((other) => distance(one, other) > least)) palette.push(one);
        }
        const closest = (one) => palette.reduce(
          (best, other, index) => (distance(one, other) < distance(one, palette[best]) ? index : best), 0);
        const nearest = new Map(sorted.map((one) => [one, closest(one)]));
        const rows = new Uint8Array(height * (width + 1));
        for (let index = 0; index < width * height; index += 1) {
          rows[index + Math.floor(index / width) + 1] = nearest.get(color(index));
        }
        const stream = new Blob([rows]).stream().pipeThrough(new CompressionStream("deflate"));
        const squeezed = new Uint8Array(await new Response(stream).arrayBuffer());
        const table = Array.from({ length: 256 }, (_, n) => {
          for (let bit = 0; bit < 8; bit += 1) n = n & 1 ? 0xedb88320 ^ (n >>> 1) : n >>> 1;
          return n >>> 0;
        });
        const word = (value) => [value >>> 24, (value >>> 16) & 255, (value >>> 8) & 255, value & 255];
        const chunk = (name, content) => {
          const body = [...new TextEncoder().encode(name), ...content];
          const crc = body.reduce((sum, byte) => table[(sum ^ byte) & 255] ^ (sum >>> 8), 0xffffffff) ^ 0xffffffff;
          return [...word(content.length), ...body, ...word(crc >>> 0)];
        };
        const png = [137, 80, 78, 71, 13, 10, 26, 10, ...chunk("IHDR", [...word(width), ...word(height), 8, 3, 0, 0, 0]),
          ...chunk("PLTE", palette.flatMap((one) => word(one).slice(1))), ...chunk("IDAT", squeezed), ...chunk("IEND", [])];
        let text = "";
        for (const byte of png) text += String.fromCharCode(byte);
        return btoa(text);
        """
}
