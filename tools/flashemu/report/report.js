// Zooms all time axes of a section together, and tells the value under the pointer.
// No less-than signs and ampersands, so that the page is well-formed.
document.querySelectorAll("section").forEach(function (section) {
  "use strict";
  var plots = Array.from(section.querySelectorAll("svg.plot")), from = 0, to = 1;
  var zoomed = plots.filter(function (svg) { return svg.classList.contains("zoom"); });
  function axis(svg, letter) {
    var a = svg.dataset[letter].split(" ");
    return {min: +a[0], max: +a[1], log: a[2] === "log", unit: a[3]};
  }
  function value(a, share) {
    return a.log ? a.min * Math.pow(a.max / a.min, share) : a.min + (a.max - a.min) * share;
  }
  function text(a, v) {
    var i = 0;
    if (a.unit === "share") return +(100 * v).toPrecision(2) + " %";
    if (a.unit !== "ns") return +v.toPrecision(4) + " " + a.unit;
    while (v >= 1000) { v /= 1000; i++; if (i === 3) break; }
    return +v.toPrecision(3) + " " + ["ns", "us", "ms", "s"][i];
  }
  function box(svg) {
    var f = svg.querySelector(".field");
    return {x: +f.getAttribute("x"), y: +f.getAttribute("y"),
            w: +f.getAttribute("width"), h: +f.getAttribute("height")};
  }
  function ticks(svg) {
    var g = svg.querySelector(".tx"), a = axis(svg, "x"), b = box(svg), x, t, i;
    var grid = g.querySelector("path").cloneNode(), label = g.querySelector("text").cloneNode();
    var low = value(a, from), high = value(a, to), power, step, decimals;
    power = Math.pow(10, Math.floor(Math.log10((high - low) / 5)));
    step = power * [1, 2, 5, 10, 20].find(function (n) { // long numbers need room
      return n * power * (high >= 1e5 ? 3 : 6) >= high - low;
    });
    decimals = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
    g.textContent = "";
    for (i = Math.ceil(low / step); high >= i * step; i++) {
      x = b.x + b.w * (i * step - low) / (high - low);
      grid.setAttribute("d", "M" + x + " " + b.y + "v" + b.h);
      g.appendChild(grid.cloneNode());
      t = g.appendChild(label.cloneNode());
      t.setAttribute("x", x > b.x + b.w - 20 ? x + 8 : x);
      t.setAttribute("text-anchor", x > b.x + b.w - 20 ? "end" : "middle");
      t.textContent = (i * step).toFixed(decimals);
    }
  }
  function show(low, high) {
    var size = Math.min(1, Math.max(1e-3, high - low));
    from = Math.max(0, Math.min(1 - size, low));
    to = from + size;
    zoomed.forEach(function (svg) {
      var b = box(svg);
      svg.querySelector(".field").setAttribute("viewBox",
        [from * b.w, 0, (to - from) * b.w, b.h].join(" "));
      ticks(svg);
    });
  }
  function zoom(factor, at) {
    var middle = from + at * (to - from), size = Math.min(1, factor * (to - from));
    show(middle - at * size, middle + (1 - at) * size);
  }
  function pan(share) { show(from + share * (to - from), to + share * (to - from)); }
  function place(svg, event) { // of the pointer in the field, from 0 to 1
    var b = box(svg), r = svg.getBoundingClientRect(), scale = r.width / svg.viewBox.baseVal.width;
    return {x: ((event.clientX - r.left) / scale - b.x) / b.w,
            y: 1 - ((event.clientY - r.top) / scale - b.y - 3) / (b.h - 6), w: b.w * scale};
  }
  plots.forEach(function (svg) {
    var told = svg.appendChild(svg.querySelector("text").cloneNode()), last;
    told.setAttribute("x", 398);
    told.setAttribute("y", 11);
    told.setAttribute("text-anchor", "end");
    told.setAttribute("class", "told");
    told.textContent = "";
    svg.addEventListener("pointerdown", function (event) { last = event.clientX; });
    svg.addEventListener("pointerleave", function () { told.textContent = ""; });
    svg.addEventListener("pointermove", function (event) {
      var p = place(svg, event), x = axis(svg, "x"), y = axis(svg, "y"), z = zoomed.includes(svg);
      var inside = Math.min(p.x, p.y, 1 - p.x, 1 - p.y) >= 0;
      if (event.buttons ? z : false) { pan((last - event.clientX) / p.w); last = event.clientX; }
      told.textContent = inside ? text(x, value(x, z ? from + p.x * (to - from) : p.x)) + ", " +
        text(y, value(y, p.y)) : "";
    });
    svg.addEventListener("wheel", function (event) {
      if (event.ctrlKey ? !zoomed.includes(svg) : true) return;
      event.preventDefault();
      zoom(event.deltaY > 0 ? 1.25 : 0.8, Math.max(0, Math.min(1, place(svg, event).x)));
    }, {passive: false});
  });
  if (zoomed.length === 0) return;
  var keys = document.createElement("p");
  keys.className = "keys";
  [["+", "zoom in", function () { zoom(0.5, 0.5); }],
   ["\u2212", "zoom out", function () { zoom(2, 0.5); }],
   ["\u2190", "earlier", function () { pan(-0.5); }],
   ["\u2192", "later", function () { pan(0.5); }],
   ["all", "all of the time", function () { show(0, 1); }]].forEach(function (k) {
    var button = keys.appendChild(document.createElement("button"));
    button.textContent = k[0];
    button.title = k[1];
    button.setAttribute("aria-label", k[1]);
    button.addEventListener("click", k[2]);
  });
  section.insertBefore(keys, section.querySelector(".figures"));
});
