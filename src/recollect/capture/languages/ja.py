"""Japanese."""

from __future__ import annotations

from recollect.capture.language import NOTHING, Language, Signal, plain

JAPANESE = Language(
    code="ja",
    signals=(
        Signal("says it is to last", 3.0, plain("今後|これから|これからは|以後|以降|原則|ルールとして|どのプロジェクトでも|全プロジェクト"), firm=True),
        Signal("asks to remember it", 3.5, plain("覚えて(?:おいて)?|記憶して|忘れないで|メモして(?:おいて)?"), firm=True),
        Signal("a name", 4.0, plain("(?:私|僕|俺)の名前は|と呼んで|(?:私|僕|俺)は.{1,12}と(?:いい|申し)ます"), firm=True),
        Signal("every time", 2.0, plain("毎回")),
        Signal("names the place where it holds", 2.0, plain("このプロジェクト|このリポジトリ|このレポ|うちでは|うちの|当プロジェクト|このコードベース|ここでは|社内では|チームでは")),
        Signal("always or never", 2.0, plain("必ず|常に|いつも|絶対に|決して|禁止|のみ|だけ(?:を)?使|しないでください|しないで|使わないで|使わない|やめて")),
        Signal("what we do", 1.0, plain("使っています|使います|使ってください|にしてください|でお願いします|書いてください|統一して|統一しています|経由で|を使う|に置く|に置いて")),
        Signal("what I prefer", 3.0, plain("の方が好き|のほうが好き|好みです|が嫌い"), firm=True),
        Signal("a fact of an environment", 2.5, plain("(?:本番|ステージング|開発環境|CI|テスト環境|データベース|デプロイ|リリース|マイグレーション).*(?:です|あります|動いて|行い|行って|経由|必要|のみ|から)")),
        Signal("asks for it", 1.0, plain("ください|下さい|お願い|禁止")),
        Signal("no, ", 1.5, plain("^(?:いや|いいえ|違う|違います|そうじゃなく|ちがう|ダメ)")),
        Signal("one thing, not the other", 1.0, plain("ではなく|じゃなく|の代わりに|より")),
    ),
    vetoes={
        "a symptom": plain("エラー|失敗|動かない|動きません|落ちる|表示されない|おかしい|壊れ"),
        "a question": plain("[?？]\\s*$|ですか|ますか|でしょうか|かな[。]?$|なぜ|どうして|どう(?:すれば|やって)|何(?:が|を|で)|どれ|どこ"),
        "an order for this once": plain("今回|とりあえず|まだ|一旦|いったん|今日|明日|この(?:PR|ファイル|コミット|関数|ブランチ)|今だけ|先に|しばらく|一時的"),
        "not decided": plain("かもしれ|もし|たら(?:どう|いい)|検討|と思う|仮に|だろう"),
        "an order to write it down somewhere": plain("訳して|翻訳|要約|README|ドキュメントに|追記して|文章を"),
        "a requirement": plain("(?:ボタン|関数|画面|ページ|ユーザー|メニュー|フォーム)(?:は|が).*(?:べき|必要|返す|表示)"),
        "somebody else's words": plain("(?:と|って)(?:言って|書いて|書かれ)|によると|らしい"),
    },
    whole={},
    correction=plain("^(?:いや|いいえ|違う|違います|そうじゃなく|ちがう|ダメ)|やめて|何度も|また"),
    devops=plain("本番|ステージング|環境|CI|サーバ|ポート|デプロイ|ブランチ|リリース|データベース|マージ|プッシュ|main|Docker"),
    user=plain("私|僕|俺|返事|回答|説明|答え|日本語で"),
    everywhere=plain("どのプロジェクトでも|全プロジェクト|すべてのプロジェクト"),
    project=plain("このプロジェクト|このリポジトリ|うち|ここ"),
    back=plain("^(?:毎回|いつも|常に|全部|今後も)"),
    lead=plain("^(?:[\\s、。,.!！]|いや|いいえ|違います|違う|今後は|これからは|今後|これから)+"),
    tail=plain("[\\s、。,.!！]+$"),
    asides=NOTHING,
    rewrites=(),
)  # fmt: skip
