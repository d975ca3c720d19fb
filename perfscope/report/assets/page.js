// A box that can scroll is reached with the keyboard while it has something to scroll, and only then.
(() => {
  "use strict";
  function fit() {
    for (const box of document.querySelectorAll(".scroll")) {
      if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
      else box.removeAttribute("tabindex");
    }
  }
  addEventListener("resize", fit);
  document.addEventListener("toggle", fit, true);
  fit();
})();
