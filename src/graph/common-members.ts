/** Members that the languages' own libraries have: of a receiver that nobody knows they say nothing. */
const names = `
add all any append apply at bind call capitalize catch clear close concat connect constructor copy count create decode delete
destroy dispatch emit encode end endsWith endswith entries error every exec exists extend fill filter finally find findIndex
first flat flatMap flush forEach format from get getItem handle has hasOwnProperty includes indexOf index info init insert
isEmpty items iterator join keys kill last length listen load lock log lower lstrip map match message min max name next next of off on
once open parse pause pipe pop post process push put query read readline readlines receive reduce release remove render replace
replaceAll request reset resolve reject resume reverse rstrip run save search seek send set setdefault shift size slice some
sort splice split start startsWith startswith status stop strip sub substring sum test text then title toJSON toLowerCase
toString toUpperCase trim type union unlock unshift unwrap update upper value valueOf values wait warn write debug string
String Error Close Read Write Len Less Swap Add Done Wait Lock Unlock Get Set String Next Scan Print Printf Println
`;
const common = new Set(names.split(/\s+/).filter(Boolean));

export const isCommonMember = (name: string): boolean => common.has(name);
