"""Vietnamese."""

from __future__ import annotations

from recollect.capture.language import NOTHING, Language, Signal, plain, words

_LEAD = r"^\W*(?:(?:và|nhưng|không|ok|vâng|dạ|nhé|à|hãy|xin|làm ơn|ngoài ra)\W+)*"

VIETNAMESE = Language(
    code="vi",
    signals=(
        Signal("says it is to last", 3.5, words(r"từ giờ(?: trở đi)?|từ nay(?: về sau| trở đi)?|kể từ (?:bây giờ|nay|hôm nay)|từ bây giờ|những lần sau"), firm=True),
        Signal("asks to remember it", 3.5, words(r"(?:hãy )?(?:nhớ (?:rằng|là|kỹ|điều này)|ghi nhớ|đừng quên(?: rằng| là))"), firm=True),
        Signal("a name", 4.0, words(r"(?:hãy )?gọi (?:tôi|mình|em|anh|chị|tớ) là|tên (?:tôi|mình|em|anh|chị|tớ) là|(?:tôi|mình) tên(?: là)?"), firm=True),
        Signal("always or never, as an order", 3.5, plain(_LEAD + r"(?:luôn(?: luôn)?|không bao giờ|đừng bao giờ|tuyệt đối không)\b|\bđừng bao giờ\b|" + _LEAD + r"(?:dùng|viết|chạy|trả lời|đặt|kiểm tra|hỏi)(?: \S+){0,5} (?:luôn luôn|mọi lúc)\b"), firm=True),
        Signal("what we do", 2.5, words(r"(?:chúng (?:tôi|ta|mình)|bọn mình|team|nhóm)(?: luôn| không| chỉ| đang| ở đây)* (?:dùng|sử dụng|viết|đặt|deploy|commit|merge|lưu|chạy)")),
        Signal("names the place where it holds", 1.5, words(r"trong (?:dự án|repo|project|codebase) này|dự án này|repo này|ở đây")),
        Signal("what I prefer", 3.0, words(r"tôi (?:luôn thích|ghét khi|không thích khi|muốn luôn)"), firm=True),
        Signal("in which language to speak", 3.5, words(r"(?:trả lời|nói|viết)(?: cho tôi| với tôi)?(?: luôn)? bằng tiếng \w+"), firm=True),
        Signal("do not, as an order", 1.5, plain(_LEAD + r"(?:đừng|không được|cấm)\b")),
        Signal("gives a reason", 1.0, words(r"bởi vì|vì|nếu không|kẻo")),
        Signal("one thing, not the other", 1.5, words(r"(?:chứ không phải|không phải|thay vì|thay cho|không dùng) [\w./@-]+")),
    ),
    vetoes={
        "a symptom": words(r"lỗi|bị lỗi|không hoạt động|bị hỏng|không chạy|bị treo|không hiển thị|crash|thất bại"),
        "a question": plain(r"\?\s*$|(?:phải không|được không|hay không|đúng không|nhỉ)\W*$|^\W*(?:tại sao|sao|vì sao|làm sao|thế nào|cái gì|khi nào|ở đâu|có thể|có nên)\b"),
        "an order for this once": words(r"lần này|hôm nay|ngày mai|tạm thời|bây giờ(?! trở)|hiện tại|trong (?:pr|file|commit|nhánh) này|trước đã|chưa"),
        "not decided": words(r"có lẽ|có thể|nếu như|hay là|giả sử|chắc là"),
        "an order to write it down somewhere": plain(r"\b(?:thêm|viết|ghi)\b.{0,60}\b(?:readme|tài liệu|claude\.md|wiki)"),
        "somebody else's words": words(r"(?:khách hàng|đồng nghiệp|sếp|reviewer) (?:nói|bảo|muốn|yêu cầu)|theo lời"),
        "a requirement": plain(r"\b(?:nút|trang|người dùng|hàm|form|menu|danh sách|trường)\b.*\b(?:phải|nên|cần)"),
    },
    whole={"a text to work on": plain(r"^\W*(?:dịch|tóm tắt|viết lại|sửa văn)\b")},
    correction=plain(r"^\W*(?:không|sai|nhầm)\b|\blại nữa\b"),
    devops=words(r"prod\w*|staging|ci|server|máy chủ|cổng|deploy\w*|nhánh|main|master|cơ sở dữ liệu|docker|merge|push|release"),
    user=words(r"tôi|mình|trả lời|giải thích"),
    everywhere=words(r"trong (?:mọi|tất cả) (?:dự án|project)\w*|ở mọi nơi"),
    project=words(r"dự án|repo|project|chúng (?:tôi|ta)|team"),
    back=plain(r"^\W*(?:nhớ (?:điều này|nhé|kỹ)|ghi nhớ điều này|luôn luôn|mọi lúc)\W*$"),
    lead=plain(r"^(?:[\s,.:;!-]|(?:ok|vâng|dạ|và|nhưng|à)(?=[\s,.:;!]|$))+"),
    tail=plain(r"(?:[\s,;:.!]|\b(?:nhé|nha|cảm ơn|ạ)\b)+$"),
    asides=NOTHING,
    rewrites=(),
)  # fmt: skip
